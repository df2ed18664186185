/* The files of the inspector's page as bytes of this library. */
#ifndef FLUXBUS_CINSPECTOR_H
#define FLUXBUS_CINSPECTOR_H

#include <stddef.h>

typedef struct {
    /* As a browser asks for it, behind /inspector/. */
    const char *name;
    const char *bytes;
    size_t length;
} inspector_file;

size_t inspector_file_count(void);

/* One of the files, by its place in their list: less than their count. */
inspector_file inspector_file_at(size_t index);

#endif
