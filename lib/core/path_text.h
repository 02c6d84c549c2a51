/* SPDX-License-Identifier: MIT */
/* Paths in messages, whose room is limited. */
#ifndef PDL_LIB_PATH_TEXT_H
#define PDL_LIB_PATH_TEXT_H

#include <stddef.h>
#include <string.h>

enum { PDL_PATH_MOST = 255 };

struct pdl_path_text {
    char text[PDL_PATH_MOST + 1];
};

/* A path in at most `most` bytes (up to PDL_PATH_MOST): of a longer one the middle is left out, so that its
 * beginning, its end and what the message says after it are there. `most` is at least 16. */
static inline struct pdl_path_text pdl_path_text(const char *path, size_t most)
{
    static const char gap[] = "...";
    struct pdl_path_text made = {""};
    const size_t size = strlen(path);
    if (size <= most) {
        memcpy(made.text, path, size + 1);
        return made;
    }
    size_t head = (most - (sizeof(gap) - 1)) / 3; /* the end says more than the beginning */
    const char *tail = path + size - (most - (sizeof(gap) - 1) - head);
    while (head > 0 && ((unsigned char)path[head] & 0xc0) == 0x80) { /* within a character */
        head--;
    }
    while (((unsigned char)*tail & 0xc0) == 0x80) {
        tail++;
    }
    memcpy(made.text, path, head);
    memcpy(made.text + head, gap, sizeof(gap) - 1);
    memcpy(made.text + head + sizeof(gap) - 1, tail, strlen(tail) + 1);
    return made;
}

/* For a message that has the room. */
#define PDL_PATH(path) (pdl_path_text((path), 200).text)

#endif /* PDL_LIB_PATH_TEXT_H */
