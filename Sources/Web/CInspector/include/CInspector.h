/* The files of the inspector's page as bytes of this library. */
#ifndef FLUXBUS_CINSPECTOR_H
#define FLUXBUS_CINSPECTOR_H

#include <stddef.h>

typedef struct {
    /* As a browser asks for it, behind /inspector/. */
    const char *name;
    const unsigned char *bytes;
    size_t length;
    /* As the header Content-Type has it. */
    const char *content_type;
} inspector_file;

/* The files, and how many there are. */
const inspector_file *inspector_files(size_t *count);

#endif
