/* SPDX-License-Identifier: MIT */
/* Inputs as JSON, with jansson. docs/lint.md documents the keys. */
#ifndef PDL_TOOLS_JSON_H
#define PDL_TOOLS_JSON_H

#include <stdbool.h>

#include <jansson.h>

#include "documents.h"

/* All of these end the program where there is no memory. */

/* A JSON file's value; NULL with what is wrong, which the caller frees. */
json_t *json_read(const char *path, char **why);

/* A string or, for NULL, null. Bytes that are not UTF-8 become U+FFFD. */
json_t *json_text(const char *text);
/* Likewise of an input's text, as much as shown() leaves of it. */
json_t *json_shown(const char *text);
json_t *json_number(int64_t number);
/* null where the number is below `least`. */
json_t *json_number_from(int64_t number, int64_t least);

/* Both take the value over. */
void json_set(json_t *object, const char *key, json_t *value);
void json_add(json_t *array, json_t *value);
json_t *json_new_object(void);
json_t *json_new_array(void);

/* What every document begins with: version, tool, inputs, images. */
json_t *json_document(const struct inputs *inputs);

/* The kernels of all inputs; if `wanted` is not NULL, those for which it is true. */
json_t *json_kernels(const struct inputs *inputs, kernel_filter *wanted, const void *context);

/* null for NULL; the file of a place is null where it is not known. */
json_t *json_place(const pdl_inspect_place *place);

/* "PTX", "SASS", "LTO" in small letters. */
const char *kind_name(int32_t kind);

/* Prints a document to standard output and frees it; false where writing failed. Numbers have as many digits as are
 * measured. The text is ASCII, so that no name in it steers a terminal. */
bool json_print(json_t *root);

#endif /* PDL_TOOLS_JSON_H */
