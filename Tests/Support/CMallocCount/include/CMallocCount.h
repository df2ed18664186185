// Counts how often memory is taken from the system and how much of it is kept, per thread: this program's malloc stands before the C library's.
#ifndef C_MALLOC_COUNT_H
#define C_MALLOC_COUNT_H

// How often this thread has called malloc, calloc or realloc, or taken memory with an alignment.
unsigned long malloc_count(void);

// How many bytes this thread has taken and not given back, with what rounding them up adds. What another thread gives back counts
// there.
long malloc_kept(void);

#endif
