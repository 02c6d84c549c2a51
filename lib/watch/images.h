/* SPDX-License-Identifier: MIT */
/* The code that a program brings along, as the interposer and prove.c use it. */
#ifndef PDL_LIB_WATCH_IMAGES_H
#define PDL_LIB_WATCH_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pdl_watch_loaded;

#define PDL_WATCH_WRAPPER_MAGIC  0x466243b1u
#define PDL_WATCH_WRAPPER_LINKED 2u /* in `version`: made by the device linker */
#define PDL_WATCH_IMAGE_MOST     ((size_t)1 << 30)
#define PDL_WATCH_PTX_MOST       ((size_t)256 << 20)

/* As in fatbinary_section.h. */
struct pdl_watch_wrapper {
    uint32_t magic;
    uint32_t version;
    const unsigned char *data;          /* a fatbin */
    const unsigned char *const *inputs; /* LINKED: what it was linked from, up to NULL */
};

/* The first four bytes of an image whose length nobody tells; 0: a text that is shorter. */
uint32_t pdl_watch_image_magic(const void *image);

/* As pdl_watch_image_given(), for code whose size is known. It is copied. */
void pdl_watch_image_bytes(const void *image, size_t size);

/* A PTX text or a cubin. */
struct pdl_watch_code {
    const unsigned char *bytes;
    size_t size;
    uint32_t target; /* 90; 0: a text by itself, which says so */
    uint32_t image;  /* those of one number were given to the driver together, which chooses */
    bool machine;
};

enum pdl_watch_looked {
    PDL_WATCH_LOOK_ON,
    PDL_WATCH_LOOK_NEXT, /* of a cubin: leave out the texts of its image, if its last cubin says so too */
    PDL_WATCH_LOOK_ENOUGH
};

/* Calls `look` with each code that has the function's name as a kernel and is for what the driver says the function
 * was compiled for: image by image, in each first the cubins, if they are wanted, and then the texts. False where one
 * of them could not be read: it may be another time. */
typedef enum pdl_watch_looked pdl_watch_image_look(void *context,
                                                   const struct pdl_watch_code *code);
bool pdl_watch_images_each(const struct pdl_watch_loaded *function, bool machine,
                           pdl_watch_image_look *look, void *context);

#endif /* PDL_LIB_WATCH_IMAGES_H */
