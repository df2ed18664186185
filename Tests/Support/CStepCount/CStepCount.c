#include "CStepCount.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static int wait_for(pid_t child) {
    int status;
    while (waitpid(child, &status, __WALL) < 0) {
        if (errno != EINTR) return -1;
    }
    return status;
}

int step_count(char *const arguments[], char *const environment[], long counts[], int most) {
    const pid_t child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0) execve(arguments[0], arguments, environment);
        _exit(127);
    }
    if (child < 0) return -1;

    int parts = 0;
    long steps = 0;
    bool counting = false;
    // The first stop is that of the new program.
    int status = wait_for(child);
    // It does not outlive whoever counts.
    ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)(long)PTRACE_O_EXITKILL);
    while (status >= 0 && WIFSTOPPED(status)) {
        int signal = WSTOPSIG(status);
        if (signal == SIGSTOP) {
            if (counting) {
                if (parts < most) counts[parts] = steps;
                parts++;
            }
            counting = !counting;
            steps = 0;
            signal = 0;
        } else if (signal == SIGTRAP) {
            steps++;
            signal = 0;
        }
        if (ptrace(counting ? PTRACE_SINGLESTEP : PTRACE_CONT, child, NULL, (void *)(long)signal) < 0) break;
        status = wait_for(child);
    }
    if (status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return parts;
    if (status >= 0 && WIFSTOPPED(status)) {
        kill(child, SIGKILL);
        wait_for(child);
    }
    errno = ECHILD;
    return -1;
}
