// Counts the instructions of a program by single steps: as exact as a simulator, and without counters of the processor, which
// virtual machines seldom have.
#ifndef C_STEP_COUNT_H
#define C_STEP_COUNT_H

// Runs a program, which raises SIGSTOP before and after each part that is to be counted, and ends by itself. Counted is its first
// thread, in user space; the other parts run at full speed.
//
// Returns how many parts there were, of which the first `most` are in `counts`; or -1, and `errno` says why. A program that does not
// end with 0 is an ECHILD.
int step_count(char *const arguments[], char *const environment[], long counts[], int most);

#endif
