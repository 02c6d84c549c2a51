/* SPDX-License-Identifier: MIT */
#include "rtc/cache/flight.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "rtc/compile/log.h"

enum { BUCKETS = 1024 };
/* Of the code of images, which is in the driver and in the folder as well: what comes after is not kept. */
static const size_t max_code = (size_t)256 << 20;

/* A kernel that was loaded. */
struct loaded {
    struct loaded *next;
    pdl_kernel *kernel;
    char name[];
};

/* One making of a key, for those who wait for it. */
struct pdl_rtc_attempt {
    size_t users; /* its maker and those who wait */
    bool done, failed;
    pdl_error error;
    char *log;
};

/* All of a key. There are none that hold nothing. */
struct text {
    struct text *next;
    struct pdl_rtc_key key;
    pdl_rtc_image *image;
    struct loaded *loaded;
    struct pdl_rtc_attempt *attempt; /* NULL: nobody is making it */
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

static struct loaded *find_loaded(const struct text *text, const char *name)
{
    struct loaded *loaded = text->loaded;
    while (loaded != NULL && strcmp(loaded->name, name) != 0) {
        loaded = loaded->next;
    }
    return loaded;
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

static bool add_loaded(struct loaded **list, const char *name, pdl_kernel *kernel)
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
    return true;
}

static void free_attempt(struct pdl_rtc_attempt *attempt)
{
    free(attempt->log);
    free(attempt);
}

static void leave_attempt(struct pdl_rtc_attempt *attempt)
{
    if (--attempt->users == 0) {
        free_attempt(attempt);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Flights, under the lock
 * ---------------------------------------------------------------------------------------------- */

static bool take_found(const struct text *text, struct pdl_rtc_flight *flight)
{
    if (flight->name == NULL) {
        flight->image = text->image != NULL ? pdl_rtc_image_retain(text->image) : NULL;
        return flight->image != NULL;
    }
    const struct loaded *loaded = find_loaded(text, flight->name);
    flight->kernel = loaded != NULL ? loaded->kernel : NULL;
    return loaded != NULL;
}

/* Makes the calling thread the maker. False without memory. */
static bool become_maker(struct pdl_rtc_flight *flight, struct text **at)
{
    struct text *text = *at;
    struct pdl_rtc_attempt *attempt = calloc(1, sizeof(*attempt));
    if (text == NULL) {
        text = calloc(1, sizeof(*text));
    }
    if (attempt == NULL || text == NULL) {
        free(attempt);
        if (*at == NULL) {
            free(text);
        }
        return false;
    }
    if (*at == NULL) {
        text->key = *flight->key;
        *at = text;
    }
    attempt->users = 1;
    text->attempt = attempt;
    if (text->image != NULL) {
        flight->image = pdl_rtc_image_retain(text->image);
    }
    return true;
}

/* Waits for the attempt of another thread. False if it failed. */
static bool wait_for(struct pdl_rtc_flights *flights, struct pdl_rtc_attempt *attempt)
{
    attempt->users++;
    while (!attempt->done) {
        (void)pthread_cond_wait(&flights->landed, &flights->lock);
    }
    const bool failed = attempt->failed;
    if (failed) {
        (void)pdl_error_record(&attempt->error);
        pdl_rtc_log_set(attempt->log != NULL ? attempt->log : "");
    }
    leave_attempt(attempt);
    return !failed;
}

enum pdl_rtc_flight_state pdl_rtc_flight_start(struct pdl_rtc_flights *flights,
                                               struct pdl_rtc_flight *flight)
{
    enum pdl_rtc_flight_state state = PDL_RTC_FLIGHT_MAKE;
    (void)pthread_mutex_lock(&flights->lock);
    for (;;) {
        struct text **at = find(flights, flight->key);
        if (*at != NULL && take_found(*at, flight)) {
            state = PDL_RTC_FLIGHT_FOUND;
            break;
        }
        struct pdl_rtc_attempt *attempt = *at != NULL ? (*at)->attempt : NULL;
        if (attempt == NULL) {
            if (!become_maker(flight, at)) {
                (void)PDL_NO_MEMORY();
                state = PDL_RTC_FLIGHT_FAILED;
            }
            break;
        }
        flight->waited = true;
        if (!wait_for(flights, attempt)) {
            state = PDL_RTC_FLIGHT_FAILED;
            break;
        }
    }
    (void)pthread_mutex_unlock(&flights->lock);
    return state;
}

static void keep_image(struct pdl_rtc_flights *flights, struct text *text, pdl_rtc_image *image)
{
    if (text->image == NULL && image != NULL && image->code_size <= max_code - flights->code) {
        text->image = pdl_rtc_image_retain(image);
        flights->code += image->code_size;
    }
}

static void end_attempt(struct pdl_rtc_flights *flights, struct text *text, pdl_status status)
{
    struct pdl_rtc_attempt *attempt = text->attempt;
    text->attempt = NULL;
    attempt->done = true;
    if (status != PDL_SUCCESS) {
        attempt->failed = true;
        attempt->error = *pdl_last_error();
        attempt->log = strdup(pdl_rtc_log());
    }
    leave_attempt(attempt);
    (void)pthread_cond_broadcast(&flights->landed);
}

bool pdl_rtc_flight_land(struct pdl_rtc_flights *flights, const struct pdl_rtc_flight *flight,
                         pdl_status status, pdl_rtc_image *image, pdl_kernel *kernel)
{
    (void)pthread_mutex_lock(&flights->lock);
    bool kept = kernel == NULL;
    struct text **at = find(flights, flight->key);
    struct text *text = *at;
    if (text != NULL) { /* it is there, as the caller makes it */
        if (!kept) {
            kept = add_loaded(&text->loaded, flight->name, kernel);
            flights->kernels += kept;
        }
        keep_image(flights, text, image);
        end_attempt(flights, text, status);
        if (text->image == NULL && text->loaded == NULL) {
            *at = text->next;
            free(text);
        }
    }
    (void)pthread_mutex_unlock(&flights->lock);
    return kept;
}

bool pdl_rtc_flights_keep(struct pdl_rtc_flights *flights, pdl_kernel *kernel)
{
    (void)pthread_mutex_lock(&flights->lock);
    const bool kept = add_loaded(&flights->kept, "", kernel);
    flights->kernels += kept;
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

/* ------------------------------------------------------------------------------------------------
 * Forks
 * ---------------------------------------------------------------------------------------------- */

void pdl_rtc_flights_before_fork(struct pdl_rtc_flights *flights)
{
    (void)pthread_mutex_lock(&flights->lock);
}

/* Those of other threads never land, and the one that forked makes nothing. */
static void drop_attempts(struct pdl_rtc_flights *flights)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct text *text = flights->buckets[i]; text != NULL; text = text->next) {
            if (text->attempt != NULL) {
                free_attempt(text->attempt);
                text->attempt = NULL;
            }
        }
    }
}

void pdl_rtc_flights_after_fork(struct pdl_rtc_flights *flights, bool child)
{
    if (child) {
        drop_attempts(flights);
        (void)pthread_cond_init(&flights->landed, NULL); /* nobody waits */
    }
    (void)pthread_mutex_unlock(&flights->lock);
}
