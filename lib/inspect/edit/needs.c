/* SPDX-License-Identifier: MIT */
/* An instruction that is not known needs the wait: the lists are of those that do not. */
#include "inspect/edit/needs.h"

#include "inspect/flow/effects.h"

/* Opcodes without a class that compute in registers. */
static const char *const computing[] = {
    "ex2",       "lg2",        "sin",       "cos",          "tanh",         "sqrt", "rsqrt",
    "rcp",       "fns",        "dp4a",      "dp2a",         "cnot",         "bmsk", "szext",
    "nanosleep", "getctarank", "nop",       "pmevent",      "clz",          "not",  "add3",
    "alloca",    "movmatrix",  "stacksave", "stackrestore", "createpolicy",
};

/* Opcodes without a class that work on shared memory, or order accesses. tcgen05 is not one: a kernel that
 * holds tensor memory while it waits keeps the blocks that it waits for from getting theirs. */
static const char *const in_block[] = {"ldmatrix", "stmatrix", "wgmma", "fence",
                                       "membar",   "mbarrier", "cp"};

static bool is_one_of(const struct pdl_parts *parts, const char *const *words, size_t count)
{
    bool found = false;
    for (size_t i = 0; i < count && !found; i++) {
        found = pdl_part_is(parts, 0, words[i]);
    }
    return found;
}

/* Whether an opcode without a class neither touches global memory nor has an effect that is not known. */
static bool is_harmless(const struct pdl_needs *needs, const struct pdl_instruction *instruction)
{
    const struct pdl_name *name = &needs->module->names.names[instruction->name];
    struct pdl_parts parts;
    pdl_parts_split(&parts, name->text, name->length);
    if (is_one_of(&parts, computing, sizeof(computing) / sizeof(computing[0]))) {
        return true;
    }
    return needs->hoist && is_one_of(&parts, in_block, sizeof(in_block) / sizeof(in_block[0])) &&
           pdl_part_find(&parts, "global") == 0 && pdl_part_find(&parts, "tensormap") == 0;
}

/* Whether what a call calls is known to touch no memory, and neither to wait nor to trigger. */
static bool needs_nothing(const struct pdl_needs *needs, const struct pdl_instruction *call)
{
    const struct pdl_ptx_function *callee =
        call->callee != PDL_NONE ? pdl_ptx_function_find(needs->module, call->callee) : NULL;
    const struct pdl_summary *summary = callee != NULL ? callee->summary : NULL;
    /* What a function calls may be of CUDA's own, such as printf, whose output has an order too. */
    return summary != NULL && callee->callee_count == 0 && !summary->touches && !summary->unknown &&
           !summary->waits && !summary->triggers && !summary->exits && summary->out != 0;
}

/* Whether an access may be to global memory that is not constant. */
static bool touches(const struct pdl_needs *needs, const struct pdl_instruction *instruction,
                    unsigned slot, bool reads)
{
    const uint8_t global = (1u << PDL_SPACE_GLOBAL) | (1u << PDL_SPACE_GENERIC);
    const struct pdl_operand *operand = pdl_address_operand(needs->body, instruction, slot);
    if (operand == NULL) {
        return true;
    }
    const struct pdl_value address = pdl_operand_value(needs->values, needs->body, operand);
    const bool elsewhere = instruction->opcode.space == PDL_SPACE_GENERIC &&
                           instruction->opcode.op != PDL_OP_COPY && address.spaces != 0 &&
                           (address.spaces & global) == 0 && !address.untraced;
    return !elsewhere && !(reads && pdl_constants_have(needs->constants, &address));
}

bool pdl_needs_wait(const struct pdl_needs *needs, const struct pdl_instruction *instruction)
{
    const struct pdl_opcode *opcode = &instruction->opcode;
    switch (opcode->op) {
    case PDL_OP_CARRY:
    case PDL_OP_SCALE:
    case PDL_OP_CVTA:
    case PDL_OP_LANE:
    case PDL_OP_BRANCH:
    case PDL_OP_BRANCH_TABLE:
    case PDL_OP_RETURN:
    case PDL_OP_EXIT:
    case PDL_OP_TRAP:
        return false;
    case PDL_OP_OTHER:
        return !is_harmless(needs, instruction);
    case PDL_OP_WAIT:
    case PDL_OP_TRIGGER:
    case PDL_OP_TEXTURE:
        return true;
    case PDL_OP_CALL:
        return !needs->hoist || !needs_nothing(needs, instruction);
    case PDL_OP_LOAD:
    case PDL_OP_STORE:
        if (opcode->space == PDL_SPACE_PARAM) {
            return false;
        }
        break;
    default:
        break;
    }
    return !needs->hoist ||
           (opcode->reads && touches(needs, instruction, opcode->read_slot, true)) ||
           (opcode->writes && touches(needs, instruction, opcode->write_slot, false));
}

bool pdl_needs_reads(const struct pdl_needs *needs, const struct pdl_instruction *instruction)
{
    const struct pdl_opcode *opcode = &instruction->opcode;
    if (opcode->op == PDL_OP_CALL) {
        return !needs_nothing(needs, instruction);
    }
    return (opcode->reads && touches(needs, instruction, opcode->read_slot, false)) ||
           (opcode->op == PDL_OP_ATOMIC && opcode->writes && !opcode->no_result &&
            touches(needs, instruction, opcode->write_slot, false));
}

bool pdl_needs_coherence(const struct pdl_needs *needs, const struct pdl_instruction *instruction)
{
    const struct pdl_opcode *opcode = &instruction->opcode;
    if (opcode->op != PDL_OP_LOAD || !opcode->non_coherent) {
        return false;
    }
    const struct pdl_operand *operand =
        pdl_address_operand(needs->body, instruction, opcode->read_slot);
    if (operand == NULL) {
        return true;
    }
    const struct pdl_value address = pdl_operand_value(needs->values, needs->body, operand);
    return !pdl_effects_in_own_table(needs->module, &address) &&
           !(address.spaces == 1u << PDL_SPACE_CONST && !address.untraced) &&
           !pdl_constants_have(needs->constants, &address);
}
