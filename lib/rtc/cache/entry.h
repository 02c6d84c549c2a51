/* SPDX-License-Identifier: MIT */
/* An image as the bytes of a file of the cache, and back. */
#ifndef PDL_RTC_ENTRY_H
#define PDL_RTC_ENTRY_H

#include "rtc/cache/key.h"
#include "rtc/compile/image.h"

/* The caller frees *bytes. */
pdl_status pdl_rtc_entry_write(const pdl_rtc_image *image, const struct pdl_rtc_key *key,
                               unsigned char **bytes, size_t *size);

/* What pdl_rtc_entry_read() returns, this very pointer, where it says nothing of the file. */
extern const char pdl_rtc_entry_no_memory[];

/* Why a file cannot be used; NULL if it can, with the image. Reads any bytes safely, and takes none whose
 * checksum, lengths or key are not right; `key` NULL: any key. Never sets the thread's error. */
const char *pdl_rtc_entry_read(const unsigned char *bytes, size_t size,
                               const struct pdl_rtc_key *key, pdl_rtc_image **image);

#endif /* PDL_RTC_ENTRY_H */
