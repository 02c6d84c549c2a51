/* SPDX-License-Identifier: MIT */
/* The conditions of an overlap, judged one by one. */
#include "overlap/rules.h"

#include "core/gate.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

_Static_assert(PDL_CONDITION_THREADS + PDL_RESOURCE_BLOCKS == PDL_CONDITION_BLOCKS,
               "the conditions of resources are in the resources' order");

/* What is worked out before the conditions. */
struct judgement {
    const struct pdl_overlap_input *input;
    pdl_overlap_report *report;
    bool counted;                      /* both kernels' needs are known, and fit an SM */
    const struct pdl_block *too_large; /* a block that no SM holds: its kernel cannot be launched */
    bool impossible;                   /* this, or the code of one forbids its launch */
    uint32_t alone[PDL_RESOURCE_COUNT]; /* what an SM holds of it, by each resource */
    uint32_t shared_size;               /* what the SM's shared memory is set to, at most */
    struct pdl_room beside_most;
    struct pdl_room beside_fewest;
};

PDL_PRINTF(4, 5)
static void add(const struct judgement *judgement, pdl_condition condition, uint32_t met,
                const char *format, ...)
{
    pdl_overlap_report *report = judgement->report;
    pdl_condition_report *made = &report->conditions[report->condition_count++];
    va_list arguments;
    made->condition = (uint32_t)condition;
    made->met = met;
    va_start(arguments, format);
    (void)vsnprintf(made->message, sizeof(made->message), format, arguments);
    va_end(arguments);
}

static const char *blocks_or_block(uint32_t count)
{
    return count == 1 ? "block" : "blocks";
}

static uint32_t yes_if(bool met)
{
    return met ? PDL_YES : PDL_NO;
}

/* ---- the launch ----------------------------------------------------------------------------- */

static void judge_device(const struct judgement *judgement)
{
    const int32_t capability = judgement->input->sm.compute_capability;
    add(judgement, PDL_CONDITION_DEVICE, yes_if(capability >= PDL_GATE_CAPABILITY),
        "%.100s has compute capability %d.%d; overlap needs 9.0 or newer",
        judgement->input->device_name, capability / 10, capability % 10);
    add(judgement, PDL_CONDITION_ENVIRONMENT, yes_if(!judgement->input->disabled), "%s",
        judgement->input->disabled ? pdl_reason_string(PDL_REASON_DISABLED)
                                   : "nothing has turned overlap off for the process");
}

/* Of the reasons, the older ones are other conditions. */
static void judge_attribute(const struct judgement *judgement)
{
    const pdl_reason reason = judgement->input->secondary.reason;
    const bool other = reason <= PDL_REASON_WAITS_UNKNOWN;
    const bool requested = judgement->input->requested;
    add(judgement, PDL_CONDITION_ATTRIBUTE, yes_if(requested && other), "%s",
        !requested ? "the launch of the secondary asks for no overlap (PDL_OVERLAP_NONE)"
        : other    ? "the launch of the secondary asks for overlap"
                   : pdl_reason_string(reason));
}

static void judge_stream(const struct judgement *judgement)
{
    const struct pdl_overlap_input *input = judgement->input;
    if (input->same_stream == PDL_YES) {
        add(judgement, PDL_CONDITION_STREAM, PDL_YES,
            "both are in one stream; other operations between them are not checked");
    } else if (input->same_stream == PDL_NO && input->by_event) {
        add(judgement, PDL_CONDITION_STREAM, PDL_UNKNOWN,
            "the streams differ: a launch that waits for trigger_event may start early in a "
            "captured graph, but not in plain streams");
    } else if (input->same_stream == PDL_NO) {
        add(judgement, PDL_CONDITION_STREAM, PDL_NO,
            "the streams differ: the attribute concerns the launch before it in its own stream");
    }
}

/* What an unknown version means, or a too old one. */
static void judge_code(const struct judgement *judgement, pdl_condition condition,
                       const struct pdl_overlap_side *side, const char *role, const char *lost)
{
    if (side->code < 0) {
        add(judgement, condition, PDL_UNKNOWN, "it is unknown what the %s was compiled for", role);
    } else if (side->code >= PDL_GATE_CAPABILITY) {
        add(judgement, condition, PDL_YES, "the %s was compiled for %d.%d", role, side->code / 10,
            side->code % 10);
    } else {
        add(judgement, condition, PDL_NO, "the %s was compiled for %d.%d, where its %s do nothing",
            role, side->code / 10, side->code % 10, lost);
    }
}

static void judge_waits(const struct judgement *judgement)
{
    static const char *const messages[] = {
        "it is unknown whether it waits; only a kernel that is known to wait overlaps",
        "it does not wait: with overlap it would race",
        "it waits",
    };
    const uint32_t waits = judgement->input->secondary.waits;
    add(judgement, PDL_CONDITION_WAITS, waits, "%s", messages[waits]);
}

static void judge_cooperative(const struct judgement *judgement)
{
    const bool cooperative = judgement->input->secondary.cooperative;
    add(judgement, PDL_CONDITION_COOPERATIVE, yes_if(!cooperative), "%s",
        cooperative ? pdl_reason_string(PDL_REASON_COOPERATIVE)
                    : "the secondary is an ordinary launch");
}

static void judge_triggers(const struct judgement *judgement)
{
    static const char *const messages[] = {
        "it is unknown whether it triggers; without a trigger, no blocks overlap",
        "it does not trigger: a block triggers when it ends, which hides only launch latency",
        "it triggers; the secondary may start once every block has triggered or ended",
    };
    const uint32_t triggers = judgement->input->primary.triggers;
    add(judgement, PDL_CONDITION_TRIGGERS, triggers, "%s", messages[triggers]);
}

/* What the code of one forbids is the answer, by the condition that this concerns. */
static bool judge_refused(struct judgement *judgement, pdl_condition condition)
{
    const struct pdl_overlap_input *const input = judgement->input;
    const bool primary = input->primary.refused != NULL && input->primary.refused_by == condition;
    const struct pdl_overlap_side *const side = primary ? &input->primary : &input->secondary;
    const char *const role = primary ? "primary" : "secondary";
    if (side->refused == NULL || side->refused_by != condition) {
        return false;
    }
    add(judgement, condition, PDL_NO, "the launch of the %s is refused: %s", role, side->refused);
    judgement->impossible = true;
    (void)snprintf(judgement->report->message, sizeof(judgement->report->message),
                   "the %s cannot be launched: %s", role, side->refused);
    return true;
}

static void judge_cluster(struct judgement *judgement)
{
    const uint32_t first = judgement->input->primary.cluster;
    const uint32_t second = judgement->input->secondary.cluster;
    if (judge_refused(judgement, PDL_CONDITION_CLUSTER)) {
        return;
    }
    if (second > 1) {
        add(judgement, PDL_CONDITION_CLUSTER, PDL_UNKNOWN,
            "the secondary's clusters of %u blocks need room on neighbouring SMs at the same time, "
            "which is not modelled",
            second);
    } else if (first > 1) {
        add(judgement, PDL_CONDITION_CLUSTER, PDL_UNKNOWN,
            "the primary's clusters of %u blocks lie on neighbouring SMs, so that its last wave "
            "may leave other room than is counted",
            first);
    } else {
        add(judgement, PDL_CONDITION_CLUSTER, PDL_YES, "neither has clusters");
    }
}

/* ---- the last wave -------------------------------------------------------------------------- */

/* How the primary's last blocks are spread, if all its blocks take equally long. */
static void spread(const struct judgement *judgement)
{
    pdl_overlap_report *report = judgement->report;
    const uint64_t room = (uint64_t)report->sms * report->primary_per_sm;
    if (room == 0 || report->primary_blocks == 0) {
        return;
    }
    const uint64_t waves = (report->primary_blocks + room - 1) / room;
    report->primary_waves = waves < UINT32_MAX ? (uint32_t)waves : UINT32_MAX;
    report->last_wave = report->primary_blocks - (waves - 1) * room;
    const uint32_t over = (uint32_t)(report->last_wave % report->sms);
    report->most_on_sm = (uint32_t)((report->last_wave + report->sms - 1) / report->sms);
    report->sms_with_most = over > 0 ? over : report->sms;
    report->fewest_on_sm = over > 0 ? report->most_on_sm - 1 : report->most_on_sm;
    report->idle_sms = report->fewest_on_sm == 0 ? report->sms - report->sms_with_most : 0;
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Without a preference the driver picks the size, and does not tell. It is said to avoid shared
 * memory as the bottleneck of a kernel's occupancy, so that it holds at least the blocks that the
 * kernel can have on an SM; the other end is all of the memory. */
static uint32_t smallest_size(const struct judgement *judgement)
{
    const struct pdl_overlap_input *input = judgement->input;
    const struct pdl_block *block = &input->primary.block;
    if (block->carveout >= 0) {
        return judgement->shared_size;
    }
    return pdl_sm_shared_size(&input->sm, judgement->report->primary_per_sm *
                                              pdl_block_shared(&input->sm, block));
}

/* Whether the secondary asks for a size that may not be the one that the SM is set to. */
static bool preferences_differ(const struct judgement *judgement)
{
    const struct pdl_overlap_input *input = judgement->input;
    const struct pdl_block *secondary = &input->secondary.block;
    return secondary->carveout >= 0 &&
           (input->primary.block.carveout < 0 ||
            pdl_sm_shared_for(&input->sm, secondary) != judgement->shared_size);
}

/* Blocks of the secondary for which the shared memory suffices at the size that the SM surely has;
 * with another preference of the secondary's that is none. */
static uint32_t sure_of_size(const struct judgement *judgement, uint32_t count)
{
    const struct pdl_overlap_input *input = judgement->input;
    const uint32_t held = count * pdl_block_shared(&input->sm, &input->primary.block);
    const uint32_t size = preferences_differ(judgement) ? 0 : smallest_size(judgement);
    return size > held ? (size - held) / pdl_block_shared(&input->sm, &input->secondary.block) : 0;
}

/* An idle SM's shared memory can be set as the secondary wants it, another's is as the primary has
 * it. */
static void fit(const struct judgement *judgement, uint32_t count, struct pdl_room *room)
{
    const struct pdl_overlap_input *input = judgement->input;
    const struct pdl_beside primary = {&input->primary.block, count,
                                       judgement->report->primary_waves == 1};
    const uint32_t size =
        count > 0 ? judgement->shared_size : pdl_sm_shared_for(&input->sm, &input->secondary.block);
    pdl_occupancy_beside(&input->sm, &primary, &input->secondary.block, size, room);
    if (count > 0) {
        room->all_sure = (uint32_t)least_of(room->all_sure, sure_of_size(judgement, count));
    }
}

static void count_room(struct judgement *judgement)
{
    const struct pdl_overlap_input *input = judgement->input;
    pdl_overlap_report *report = judgement->report;
    const struct pdl_overlap_side *const sides[2] = {&input->secondary, &input->primary};
    uint32_t *const counts[2] = {&report->secondary_per_sm, &report->primary_per_sm};
    for (int i = 0; i < 2; i++) {
        uint32_t each[PDL_RESOURCE_COUNT];
        if (!sides[i]->block_known) {
            return;
        }
        *counts[i] = pdl_occupancy_alone(&input->sm, &sides[i]->block, each);
        if (*counts[i] == 0) {
            judgement->too_large = &sides[i]->block;
            judgement->impossible = true;
            memcpy(judgement->alone, each, sizeof(each));
        }
    }
    if (judgement->too_large != NULL) {
        return;
    }
    judgement->counted = true;
    judgement->shared_size = pdl_sm_shared_for(&input->sm, &input->primary.block);
    spread(judgement);
    fit(judgement, report->most_on_sm, &judgement->beside_most);
    fit(judgement, report->fewest_on_sm, &judgement->beside_fewest);
    report->fit_beside_most = judgement->beside_most.all_sure;
    report->fit_beside_fewest = judgement->beside_fewest.all_sure;
    report->may_fit_beside_most = judgement->beside_most.all_may;
    report->may_fit_beside_fewest = judgement->beside_fewest.all_may;
    report->fit_total = (uint64_t)report->fit_beside_most * report->sms_with_most +
                        (uint64_t)report->fit_beside_fewest * (report->sms - report->sms_with_most);
    report->fit_total = least_of(report->fit_total, report->secondary_blocks);
    report->first_out = (uint32_t)PDL_CONDITION_THREADS +
                        (uint32_t)pdl_occupancy_limiter(judgement->beside_most.sure);
}

/* ---- resources ------------------------------------------------------------------------------ */

static const char *const units[PDL_RESOURCE_COUNT] = {"threads", "registers",
                                                      "bytes of shared memory", "block slots"};

static uint32_t capacity(const struct judgement *judgement, enum pdl_resource resource)
{
    const struct pdl_sm *sm = &judgement->input->sm;
    const uint32_t all[PDL_RESOURCE_COUNT] = {sm->threads, sm->registers, judgement->shared_size,
                                              sm->blocks};
    return all[resource];
}

static uint32_t taken(const struct pdl_sm *sm, const struct pdl_block *block,
                      enum pdl_resource resource)
{
    const uint32_t each[PDL_RESOURCE_COUNT] = {pdl_block_warps(sm, block) * sm->warp_size,
                                               pdl_block_registers(sm, block),
                                               pdl_block_shared(sm, block), 1};
    return each[resource];
}

/* The next smaller amount of a resource that is allocated differently; false where there is
 * none. */
static bool shrink(const struct pdl_sm *sm, struct pdl_block *block, enum pdl_resource resource)
{
    const uint32_t least_registers = 16; /* that the compiler can be limited to */
    const uint32_t registers_step = 8;   /* a thread: 256 a warp */
    const uint32_t warps = pdl_block_warps(sm, block);
    const uint32_t shared = pdl_block_shared(sm, block);
    switch (resource) {
    case PDL_RESOURCE_WARPS:
        block->threads = (warps - 1) * sm->warp_size;
        return warps > 1;
    case PDL_RESOURCE_REGISTERS:
        block->registers = (block->registers - 1) / registers_step * registers_step;
        return block->registers >= least_registers;
    case PDL_RESOURCE_SHARED_MEMORY:
        block->shared_memory = shared - 128 - sm->reserved_shared_memory;
        return shared >= 128 + sm->reserved_shared_memory;
    default:
        return false;
    }
}

static int32_t amount(const struct pdl_block *block, enum pdl_resource resource)
{
    const uint32_t amounts[PDL_RESOURCE_COUNT] = {block->threads, block->registers,
                                                  block->shared_memory, 1};
    return (int32_t)amounts[resource];
}

/* How small one of the two would have to be for `wanted` blocks of the secondary. */
static int32_t at_most(const struct judgement *judgement, enum pdl_resource resource,
                       bool of_primary, uint32_t wanted)
{
    const struct pdl_overlap_input *input = judgement->input;
    struct pdl_block primary = input->primary.block;
    struct pdl_block secondary = input->secondary.block;
    struct pdl_block *changed = of_primary ? &primary : &secondary;
    const struct pdl_beside beside = {&primary, judgement->report->most_on_sm,
                                      judgement->report->primary_waves == 1};
    while (shrink(&input->sm, changed, resource)) {
        struct pdl_room room;
        pdl_occupancy_beside(&input->sm, &beside, &secondary, judgement->shared_size, &room);
        if (room.sure[resource] >= wanted) {
            return amount(changed, resource);
        }
    }
    return PDL_OVERLAP_NO_VALUE;
}

/* Of barriers nothing is known but how many an SM has. */
static void report_resource(const struct judgement *judgement, pdl_condition condition)
{
    const struct pdl_overlap_input *input = judgement->input;
    pdl_overlap_report *report = judgement->report;
    pdl_resource_report *made = &report->resources[report->resource_count++];
    made->condition = (uint32_t)condition;
    made->secondary_at_most = PDL_OVERLAP_NO_VALUE;
    made->primary_at_most = PDL_OVERLAP_NO_VALUE;
    made->known = judgement->counted && condition != PDL_CONDITION_BARRIERS;
    if (!made->known) {
        return;
    }
    const enum pdl_resource resource =
        (enum pdl_resource)((int)condition - (int)PDL_CONDITION_THREADS);
    made->capacity = capacity(judgement, resource);
    made->primary_block = taken(&input->sm, &input->primary.block, resource);
    made->secondary_block = taken(&input->sm, &input->secondary.block, resource);
    const uint64_t held = (uint64_t)made->primary_block * report->most_on_sm;
    made->left = held < made->capacity ? made->capacity - (uint32_t)held : 0;
    made->fit = judgement->beside_most.sure[resource];
    made->may_fit = judgement->beside_most.may[resource];
    if (made->fit < PDL_UNLIMITED) {
        made->secondary_at_most = at_most(judgement, resource, false, made->fit + 1);
        made->primary_at_most = at_most(judgement, resource, true, made->fit + 1);
    }
}

/* Of a block that no SM holds: what it has too much of, as the answer. */
static void judge_too_large(const struct judgement *judgement, enum pdl_resource resource,
                            pdl_condition condition)
{
    const struct pdl_sm *sm = &judgement->input->sm;
    pdl_overlap_report *const report = judgement->report;
    const char *role =
        judgement->too_large == &judgement->input->primary.block ? "primary" : "secondary";
    const uint32_t most[PDL_RESOURCE_COUNT] = {
        sm->threads_per_block, sm->registers,
        sm->shared_memory_per_block + sm->reserved_shared_memory, sm->blocks};
    const uint32_t needed = taken(sm, judgement->too_large, resource);
    const bool met = judgement->alone[resource] > 0 && needed <= most[resource];
    add(judgement, condition, yes_if(met), "a block of the %s takes %u %s; the limit is %u", role,
        needed, units[resource], most[resource]);
    if (!met) {
        (void)snprintf(report->message, sizeof(report->message), "the %s cannot be launched: %s",
                       role, report->conditions[report->condition_count - 1].message);
    }
}

/* The condition of a resource where nothing was counted. */
static void judge_uncounted(const struct judgement *judgement, enum pdl_resource resource,
                            pdl_condition condition)
{
    if (judgement->too_large != NULL) {
        judge_too_large(judgement, resource, condition);
    } else {
        add(judgement, condition, PDL_UNKNOWN, "it is unknown what a block of the %s takes",
            judgement->input->primary.block_known ? "secondary" : "primary");
    }
}

static void judge_barriers(const struct judgement *judgement)
{
    const uint32_t most_of_block = 16;
    const uint32_t all = judgement->input->sm.barriers;
    if (!judgement->counted && judgement->too_large == NULL) {
        judge_uncounted(judgement, PDL_RESOURCE_BLOCKS, PDL_CONDITION_BARRIERS);
    } else if (all >= (judgement->report->most_on_sm + 1) * most_of_block) {
        add(judgement, PDL_CONDITION_BARRIERS, PDL_YES,
            "%u suffice even if every block uses %u, the maximum", all, most_of_block);
    } else {
        add(judgement, PDL_CONDITION_BARRIERS, PDL_UNKNOWN,
            "an SM has %u, and the driver does not report how many a kernel uses; with up to 2 per "
            "block, block slots run out first",
            all);
    }
}

/* Whether the last blocks may lie otherwise than evenly: those of a later wave go where blocks
 * before them happened to end first, and may leave SMs empty. */
static bool may_be_uneven(const pdl_overlap_report *report)
{
    return report->primary_waves > 1 &&
           report->last_wave < (uint64_t)report->sms * report->primary_per_sm;
}

/* "3", or "3 to 5". */
static void count_text(uint32_t sure, uint32_t may, char text[24])
{
    const int length = snprintf(text, 24, "%u", sure);
    if (may > sure && length > 0) {
        (void)snprintf(text + length, 24 - (size_t)length, " to %u", may);
    }
}

/* What is to be said of other SMs than those with most of the primary. */
static void tell_others(const struct judgement *judgement, enum pdl_resource resource, uint32_t met,
                        char text[128])
{
    const pdl_overlap_report *report = judgement->report;
    const uint32_t sure = judgement->beside_fewest.sure[resource];
    const uint32_t may = judgement->beside_fewest.may[resource];
    char count[24];
    if (may == 0 && met == PDL_UNKNOWN) {
        (void)snprintf(text, 128, "; other SMs may have room if blocks are spread unevenly");
    } else if (report->fewest_on_sm < report->most_on_sm) {
        count_text(sure, may, count);
        (void)snprintf(text, 128, ", and %s beside the %u of other SMs", count,
                       report->fewest_on_sm);
    } else if (met == PDL_UNKNOWN) {
        (void)snprintf(text, 128, ", depending on how the warps lie in the partitions of the SM");
    }
}

static void judge_resource(struct judgement *judgement, enum pdl_resource resource)
{
    const pdl_overlap_report *report = judgement->report;
    const pdl_condition condition = (pdl_condition)((int)PDL_CONDITION_THREADS + (int)resource);
    const pdl_resource_report *numbers = &report->resources[resource];
    char others[128] = "";
    char count[24];
    uint32_t met = PDL_NO;
    if (judge_refused(judgement, condition)) {
        return;
    }
    if (!numbers->known) {
        judge_uncounted(judgement, resource, condition);
        return;
    }
    if (numbers->fit == PDL_UNLIMITED) {
        add(judgement, condition, PDL_YES, "a block of the secondary uses none");
        return;
    }
    if (judgement->beside_fewest.sure[resource] > 0) {
        met = PDL_YES;
    } else if (judgement->beside_fewest.may[resource] > 0 || may_be_uneven(report)) {
        met = PDL_UNKNOWN;
    }
    tell_others(judgement, resource, met, others);
    count_text(numbers->fit, numbers->may_fit, count);
    add(judgement, condition, met,
        "%u of %u %s are left beside %u %s of the primary on an SM, and a block of the secondary "
        "takes %u: %s fit%s",
        numbers->left, numbers->capacity, units[resource], report->most_on_sm,
        blocks_or_block(report->most_on_sm), numbers->secondary_block, count, others);
}

/* ---- what only the driver decides ----------------------------------------------------------- */

static void judge_carveout(const struct judgement *judgement)
{
    const struct pdl_overlap_input *input = judgement->input;
    const uint32_t count = judgement->report->fewest_on_sm;
    if (!judgement->counted) {
        add(judgement, PDL_CONDITION_CARVEOUT, PDL_UNKNOWN, "it is unknown what the blocks take");
        return;
    }
    if (count == 0) {
        add(judgement, PDL_CONDITION_CARVEOUT, PDL_YES,
            "%u SMs are idle in the last wave of the primary and can be set for the secondary",
            judgement->report->idle_sms);
        return;
    }
    const uint32_t smallest = smallest_size(judgement);
    const uint32_t needed = count * pdl_block_shared(&input->sm, &input->primary.block) +
                            pdl_block_shared(&input->sm, &input->secondary.block);
    if (needed <= judgement->shared_size && preferences_differ(judgement)) {
        add(judgement, PDL_CONDITION_CARVEOUT, PDL_UNKNOWN,
            "the secondary prefers %u KiB of shared memory and the primary does not; such launches "
            "may or may not share an SM",
            pdl_sm_shared_for(&input->sm, &input->secondary.block) / 1024);
    } else if (needed <= smallest) {
        add(judgement, PDL_CONDITION_CARVEOUT, PDL_YES,
            "the primary sets the shared memory of an SM to %u KiB or more; with a block of the "
            "secondary, %u bytes are needed",
            smallest / 1024, needed);
    } else if (needed > input->sm.shared_memory) {
        add(judgement, PDL_CONDITION_CARVEOUT, PDL_YES,
            "it does not matter: all shared memory of an SM is too little");
    } else if (needed > judgement->shared_size) {
        add(judgement, PDL_CONDITION_CARVEOUT,
            may_be_uneven(judgement->report) ? PDL_UNKNOWN : PDL_NO,
            "the primary sets the shared memory of an SM to %u KiB; with a block of the secondary, "
            "%u bytes are needed, which fit into all %u KiB of it",
            judgement->shared_size / 1024, needed, input->sm.shared_memory / 1024);
    } else {
        add(judgement, PDL_CONDITION_CARVEOUT, PDL_UNKNOWN,
            "for the primary, the driver sets the shared memory of an SM to between %u and %u KiB; "
            "with a block of the secondary, %u bytes are needed; prefer a carve-out of 100 %%",
            smallest / 1024, judgement->shared_size / 1024, needed);
    }
}

static void judge_occupancy(const struct judgement *judgement)
{
    const pdl_overlap_report *report = judgement->report;
    const int32_t primary = judgement->input->primary.driver_per_sm;
    const int32_t secondary = judgement->input->secondary.driver_per_sm;
    if (primary < 0 || secondary < 0) {
        return;
    }
    if ((uint32_t)primary == report->primary_per_sm &&
        (uint32_t)secondary == report->secondary_per_sm) {
        add(judgement, PDL_CONDITION_OCCUPANCY, PDL_YES,
            "an SM holds %d blocks of the primary or %d of the secondary, as the driver reports",
            primary, secondary);
    } else {
        add(judgement, PDL_CONDITION_OCCUPANCY, PDL_UNKNOWN,
            "an SM holds %u and %u blocks by this count; the driver reports %d and %d",
            report->primary_per_sm, report->secondary_per_sm, primary, secondary);
    }
}

/* ---- the answer ----------------------------------------------------------------------------- */

/* Conditions of the launch itself, which decide whether it is prepared early. */
static bool of_launch(uint32_t condition)
{
    return condition <= PDL_CONDITION_COOPERATIVE;
}

/* A launch whose waits are unknown does not overlap; kernels for which barriers run out are rare. */
static uint32_t weight(const pdl_condition_report *condition)
{
    if (condition->met != PDL_UNKNOWN) {
        return condition->met;
    }
    if (condition->condition == PDL_CONDITION_WAITS) {
        return PDL_NO;
    }
    return condition->condition == PDL_CONDITION_BARRIERS ? PDL_YES : PDL_UNKNOWN;
}

/* No if a condition is not met, else unknown if one is unknown. *why: the first that decided it. */
static uint32_t all_met(const pdl_overlap_report *report, bool launch_only,
                        const pdl_condition_report **why)
{
    const pdl_condition_report *unknown = NULL;
    for (uint32_t i = 0; i < report->condition_count; i++) {
        const pdl_condition_report *condition = &report->conditions[i];
        if (launch_only && !of_launch(condition->condition)) {
            continue;
        }
        if (weight(condition) == PDL_NO) {
            *why = condition;
            return PDL_NO;
        }
        if (weight(condition) == PDL_UNKNOWN && unknown == NULL) {
            unknown = condition;
        }
    }
    *why = unknown;
    return unknown != NULL ? PDL_UNKNOWN : PDL_YES;
}

/* Where the blocks of the secondary find room. */
static void tell_room(pdl_overlap_report *report)
{
    char others[96] = "";
    char count[24];
    if (report->fewest_on_sm < report->most_on_sm) {
        count_text(report->fit_beside_fewest, report->may_fit_beside_fewest, count);
        (void)snprintf(others, sizeof(others), ", and %s on each of the %u with %u", count,
                       report->sms - report->sms_with_most, report->fewest_on_sm);
    }
    count_text(report->fit_beside_most, report->may_fit_beside_most, count);
    (void)snprintf(report->message, sizeof(report->message),
                   "%llu of the secondary's %llu blocks can start beside the primary's last wave: "
                   "%s on each of the %u SMs that hold %u %s of the primary%s; %s run out first",
                   (unsigned long long)report->fit_total,
                   (unsigned long long)report->secondary_blocks, count, report->sms_with_most,
                   report->most_on_sm, blocks_or_block(report->most_on_sm), others,
                   units[report->first_out - PDL_CONDITION_THREADS]);
}

static void conclude(const struct judgement *judgement)
{
    pdl_overlap_report *const report = judgement->report;
    const pdl_condition_report *why = NULL;
    report->early_launch = all_met(report, true, &why);
    report->overlap = all_met(report, false, &why);
    if (judgement->impossible) { /* the message is there */
        report->early_launch = PDL_NO;
    } else if (report->overlap == PDL_YES) {
        tell_room(report);
    } else if (report->overlap == PDL_UNKNOWN) {
        (void)snprintf(report->message, sizeof(report->message),
                       "it is unknown whether blocks overlap: %s", why->message);
    } else if (report->early_launch != PDL_NO && why->condition >= PDL_CONDITION_THREADS) {
        (void)snprintf(report->message, sizeof(report->message),
                       "no block of the secondary fits beside the last wave of the primary; "
                       "overlap hides only its tail and launch latency: %s",
                       why->message);
    } else {
        (void)snprintf(report->message, sizeof(report->message),
                       "no block of the secondary starts before the primary has ended%s: %s",
                       report->early_launch == PDL_YES ? ", although it is launched early" : "",
                       why->message);
    }
}

void pdl_overlap_judge(const struct pdl_overlap_input *input, pdl_overlap_report *report)
{
    const uint32_t size = report->size;
    struct judgement judgement = {.input = input, .report = report};
    memset(report, 0, sizeof(*report));
    report->size = size;
    report->device = input->device;
    report->sms = input->sms;
    report->primary_blocks = input->primary.blocks;
    report->secondary_blocks = input->secondary.blocks;
    count_room(&judgement);
    for (int i = PDL_CONDITION_THREADS; i <= PDL_CONDITION_BARRIERS; i++) {
        report_resource(&judgement, (pdl_condition)i);
    }
    judge_device(&judgement);
    judge_attribute(&judgement);
    judge_stream(&judgement);
    judge_code(&judgement, PDL_CONDITION_SECONDARY_CODE, &input->secondary, "secondary", "waits");
    judge_waits(&judgement);
    judge_cooperative(&judgement);
    judge_code(&judgement, PDL_CONDITION_PRIMARY_CODE, &input->primary, "primary", "triggers");
    judge_triggers(&judgement);
    judge_cluster(&judgement);
    for (int i = 0; i < PDL_RESOURCE_COUNT; i++) {
        judge_resource(&judgement, (enum pdl_resource)i);
    }
    judge_barriers(&judgement);
    judge_carveout(&judgement);
    judge_occupancy(&judgement);
    conclude(&judgement);
}
