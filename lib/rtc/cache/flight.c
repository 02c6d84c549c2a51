/* SPDX-License-Identifier: MIT */
#include "rtc/cache/flight.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1024 };
/* Of the code of images, which is in the driver and in the folder as well: what comes after is not kept. */
static const size_t max_code = (size_t)256 << 20;

/* A kernel that was loaded. */
struct loaded {
    struct loaded *next;
    pdl_kernel *kernel;
    char name[];
};

/* All of a key. There are none that hold nothing and that nobody makes. */
struct text {
    struct text *next;
    struct pdl_rtc_key key;
    pdl_rtc_image *image;
    struct loaded *loaded;
    bool in_flight; /* a thread is making it */
};

struct pdl_rtc_flights {
    pthread_mutex_t lock;
    pthread_cond_t landed;
    struct text *buckets[BUCKETS];
    struct loaded *kept; /* that nobody shall find */
    uint32_t kernels;
    size_t code; /* bytes of the images' */
};

/* ------------------------------------------------------------------------------------------------
 * Parts
 * ---------------------------------------------------------------------------------------------- */

static struct text **find(struct pdl_rtc_flights *flights, const struct pdl_rtc_key *key)
{
    struct text **at = &flights->buckets[key->text.low & (BUCKETS - 1)];
    while (*at != NULL && !(pdl_rtc_hash_equal((*at)->key.text, key->text) &&
                            pdl_rtc_hash_equal((*at)->key.check, key->check) &&
                            (*at)->key.compilers == key->compilers)) {
        at = &(*at)->next;
    }
    return at;
}

static void free_loaded(struct loaded *loaded)
{
    while (loaded != NULL) {
        struct loaded *next = loaded->next;
        pdl_kernel_destroy(loaded->kernel);
        free(loaded);
        loaded = next;
    }
}

static bool add_loaded(struct pdl_rtc_flights *flights, struct loaded **list, const char *name,
                       pdl_kernel *kernel)
{
    const size_t size = strlen(name) + 1;
    struct loaded *made = malloc(sizeof(*made) + size);
    if (made == NULL) {
        return false;
    }
    memcpy(made->name, name, size);
    made->kernel = kernel;
    made->next = *list;
    *list = made;
    flights->kernels++;
    return true;
}

/* ------------------------------------------------------------------------------------------------
 * Flights
 * ---------------------------------------------------------------------------------------------- */

static bool take_found(const struct text *text, struct pdl_rtc_flight *flight)
{
    if (flight->name == NULL) {
        flight->image = text->image != NULL ? pdl_rtc_image_retain(text->image) : NULL;
        return flight->image != NULL;
    }
    const struct loaded *loaded = text->loaded;
    while (loaded != NULL && strcmp(loaded->name, flight->name) != 0) {
        loaded = loaded->next;
    }
    flight->kernel = loaded != NULL ? loaded->kernel : NULL;
    return loaded != NULL;
}

/* Makes the calling thread the maker. False without memory. */
static bool become_maker(struct pdl_rtc_flight *flight, struct text **at)
{
    if (*at == NULL) {
        *at = calloc(1, sizeof(**at));
        if (*at == NULL) {
            return false;
        }
        (*at)->key = *flight->key;
    }
    (*at)->in_flight = true;
    flight->image = (*at)->image != NULL ? pdl_rtc_image_retain((*at)->image) : NULL;
    return true;
}

enum pdl_rtc_flight_state pdl_rtc_flight_start(struct pdl_rtc_flights *flights,
                                               struct pdl_rtc_flight *flight)
{
    enum pdl_rtc_flight_state state = PDL_RTC_FLIGHT_FOUND;
    (void)pthread_mutex_lock(&flights->lock);
    struct text **at = find(flights, flight->key);
    while (*at != NULL && !take_found(*at, flight) && (*at)->in_flight) {
        flight->waited = true;
        (void)pthread_cond_wait(&flights->landed, &flights->lock);
        at = find(flights, flight->key); /* it may have gone meanwhile */
    }
    const bool found = flight->name == NULL ? flight->image != NULL : flight->kernel != NULL;
    if (!found) {
        state = become_maker(flight, at) ? PDL_RTC_FLIGHT_MAKE : PDL_RTC_FLIGHT_FAILED;
    }
    (void)pthread_mutex_unlock(&flights->lock);
    return state;
}

bool pdl_rtc_flight_land(struct pdl_rtc_flights *flights, const struct pdl_rtc_flight *flight,
                         pdl_rtc_image *image, pdl_kernel *kernel)
{
    (void)pthread_mutex_lock(&flights->lock);
    struct text **at = find(flights, flight->key);
    struct text *text = *at;
    if (text == NULL) { /* only the maker's own thread removes it */
        (void)pthread_mutex_unlock(&flights->lock);
        return false;
    }
    const bool kept = kernel == NULL || add_loaded(flights, &text->loaded, flight->name, kernel);
    if (text->image == NULL && image != NULL && image->code_size <= max_code - flights->code) {
        text->image = pdl_rtc_image_retain(image);
        flights->code += image->code_size;
    }
    text->in_flight = false;
    if (text->image == NULL && text->loaded == NULL) {
        *at = text->next;
        free(text);
    }
    (void)pthread_cond_broadcast(&flights->landed);
    (void)pthread_mutex_unlock(&flights->lock);
    return kept;
}

bool pdl_rtc_flights_keep(struct pdl_rtc_flights *flights, pdl_kernel *kernel)
{
    (void)pthread_mutex_lock(&flights->lock);
    const bool kept = add_loaded(flights, &flights->kept, "", kernel);
    (void)pthread_mutex_unlock(&flights->lock);
    return kept;
}

/* ------------------------------------------------------------------------------------------------
 * All of them
 * ---------------------------------------------------------------------------------------------- */

struct pdl_rtc_flights *pdl_rtc_flights_make(void)
{
    struct pdl_rtc_flights *made = calloc(1, sizeof(*made));
    if (made != NULL) {
        (void)pthread_mutex_init(&made->lock, NULL);
        (void)pthread_cond_init(&made->landed, NULL);
    }
    return made;
}

void pdl_rtc_flights_free(struct pdl_rtc_flights *flights)
{
    if (flights == NULL) {
        return;
    }
    for (size_t i = 0; i < BUCKETS; i++) {
        struct text *text = flights->buckets[i];
        while (text != NULL) {
            struct text *next = text->next;
            pdl_rtc_image_destroy(text->image);
            free_loaded(text->loaded);
            free(text);
            text = next;
        }
    }
    free_loaded(flights->kept);
    (void)pthread_cond_destroy(&flights->landed);
    (void)pthread_mutex_destroy(&flights->lock);
    free(flights);
}

uint32_t pdl_rtc_flights_kernels(struct pdl_rtc_flights *flights)
{
    (void)pthread_mutex_lock(&flights->lock);
    const uint32_t kernels = flights->kernels;
    (void)pthread_mutex_unlock(&flights->lock);
    return kernels;
}
