#ifndef CSYNCGATE_H
#define CSYNCGATE_H

/// Has `before` called with the descriptor before each `fdatasync` of this process.
void sync_gate_set(void (*before)(int descriptor));

#endif
