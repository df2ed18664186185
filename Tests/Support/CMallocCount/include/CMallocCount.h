// Counts how often memory is taken from the system, per thread: this program's malloc stands before the C library's.
#ifndef C_MALLOC_COUNT_H
#define C_MALLOC_COUNT_H

// How often this thread has called malloc, calloc or realloc, or taken memory with an alignment.
unsigned long malloc_count(void);

#endif
