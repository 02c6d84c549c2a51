#!/bin/sh
# SPDX-License-Identifier: MIT
# processes.sh PROGRAM: how the processes of bench_tensor_parallel find each other, and that they end with an error when
# one is missing, comes twice, dies or stops. Needs no device. No process may take longer than its time limit and some
# more: `timeout` ends it with 124 then, which fails the test.
set -u
program=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
unset OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_LOCAL_SIZE PMI_RANK PMI_SIZE

# rank NUMBER SIZE ID ARGUMENT...: starts a process; its output is $dir/NUMBER, its exit status $dir/NUMBER.status
rank() {
    number=$1 size=$2 id=$3
    shift 3
    # shellcheck disable=SC2016
    (
        export TENSOR_PARALLEL_RANK="$number" TENSOR_PARALLEL_SIZE="$size" TENSOR_PARALLEL_ID="test.$$.$id"
        timeout -s KILL 30 sh -c 'echo $$ >"$1"; shift; exec "$@"' - "$dir/$number.pid" "$program" "$@" \
            >"$dir/$number" 2>&1
        echo $? >"$dir/$number.status"
    ) &
}

# expect NUMBER STATUS TEXT: how that process ended, and what it wrote
expect() {
    if [ "$(cat "$dir/$1.status")" != "$2" ] || ! grep -q "$3" "$dir/$1"; then
        echo "$test: rank $1 ended with $(cat "$dir/$1.status") instead of $2, or without '$3':"
        cat "$dir/$1"
        failed=1
    fi
}

# until_written NUMBER TEXT
until_written() {
    while ! grep -q "$2" "$dir/$1" 2>/dev/null && [ ! -s "$dir/$1.status" ]; do
        sleep 0.05
    done
}

begin() {
    test=$1
    rm -f "$dir"/*
}

begin "two by hand"
rank 1 2 two --meet 0
rank 0 2 two --meet 0
wait
expect 0 0 "rank 0: the ranks add up to 1"
expect 1 0 "rank 1: the ranks add up to 1"

begin "the name of a run that was killed"
rank 0 2 left --meet 0
while [ ! -e "/dev/shm/tensor_parallel.$(id -u).test.$$.left" ] && [ ! -s "$dir/0.status" ]; do
    sleep 0.05
done
kill -9 "$(cat "$dir/0.pid")"
wait
rank 1 2 left --meet 0
rank 0 2 left --meet 0
wait
expect 0 0 "add up to 1"
expect 1 0 "add up to 1"

begin "rank 0 is missing"
rank 1 2 alone --meet 0 --limit 0.5
wait
expect 1 1 "rank 1: rank 0 did not come within 0.5 s"

begin "rank 1 is missing"
rank 0 2 alone --meet 0 --limit 0.5
wait
expect 0 1 "rank 0: the others made no progress for 0.5 s"

begin "rank 1 comes twice"
rank 0 4 twice --meet 0 --limit 5
rank 1 4 twice --meet 0 --limit 25 # so that rank 0 is the first to give up
(
    TENSOR_PARALLEL_RANK=1 TENSOR_PARALLEL_SIZE=4 TENSOR_PARALLEL_ID="test.$$.twice" \
        timeout -s KILL 30 "$program" --meet 0 --limit 25 >"$dir/2" 2>&1
    echo $? >"$dir/2.status"
) &
wait
expect 0 1 "no progress for 5 s"
first=1 second=2 # whichever comes first
if grep -q "there already" "$dir/1"; then
    first=2 second=1
fi
expect "$first" 1 "rank 1: rank 0 has ended too early"
expect "$second" 1 "rank 1 of this run is there already"

begin "another size"
rank 0 2 size --meet 0 --limit 5
rank 1 4 size --meet 0 --limit 5
wait
expect 1 1 "rank 1 is one of 4, and rank 0 one of 2"
expect 0 1 "rank 0: "

begin "one dies in the middle"
rank 0 4 dies --meet 20
rank 1 4 dies --meet 20
rank 2 4 dies --meet 20
rank 3 4 dies --meet 20
until_written 0 "is here"
sleep 0.2
kill -9 "$(cat "$dir/2.pid")"
wait
for number in 0 1 3; do # the first to see it may be seen to end by the next
    expect $number 1 "rank $number: rank [0-3] has ended too early"
done

begin "one stops in the middle"
rank 0 2 stops --meet 20 --limit 1
rank 1 2 stops --meet 20 --limit 25
until_written 0 "is here"
sleep 0.2
kill -STOP "$(cat "$dir/1.pid")"
while [ ! -s "$dir/0.status" ]; do
    sleep 0.05
done
kill -9 "$(cat "$dir/1.pid")"
wait
expect 0 1 "rank 0: the others made no progress for 1 s"

begin "what mpirun sets"
for names in OMPI_COMM_WORLD PMI; do # all have the same parent, and so need no name
    for number in 0 1 2 3; do
        (
            export "${names}_RANK=$number" "${names}_SIZE=4"
            exec "$program" --meet 0 --limit 5 >"$dir/$number" 2>&1
        ) &
    done
    wait
    for number in 0 1 2 3; do
        echo 0 >"$dir/$number.status"
        expect $number 0 "add up to 6"
    done
done

# refused STATUS TEXT ARGUMENT...: with the variables that are set before
refused() {
    status=$1 text=$2
    shift 2
    "$program" "$@" >"$dir/0" 2>&1
    echo $? >"$dir/0.status"
    expect 0 "$status" "$text"
}

begin "invalid arguments"
refused 2 "devices takes a number from 1 to 8, not 'two'" --devices two
refused 2 "devices takes a number from 1 to 8, not '9'" --devices 9
refused 2 "3 ranks: the model's 8 kv heads go to 1, 2, 4 or 8" --devices 3
refused 2 "bench_tensor_parallel: --sum" --sum mpi
refused 2 "bench_tensor_parallel: --frobnicate" --frobnicate
refused 1 "TENSOR_PARALLEL_RANK and TENSOR_PARALLEL_SIZE are not set" --meet 0
TENSOR_PARALLEL_RANK=0 refused 1 "TENSOR_PARALLEL_RANK is set and TENSOR_PARALLEL_SIZE is not"
TENSOR_PARALLEL_RANK=2 TENSOR_PARALLEL_SIZE=2 refused 1 "rank 2 of 2: ranks count from 0"
TENSOR_PARALLEL_RANK=x TENSOR_PARALLEL_SIZE=2 refused 1 "TENSOR_PARALLEL_RANK=x is not a number"
TENSOR_PARALLEL_RANK=0 TENSOR_PARALLEL_SIZE=2 refused 1 "here each of 2 has one device" --devices 2
TENSOR_PARALLEL_RANK=0 TENSOR_PARALLEL_SIZE=2 TENSOR_PARALLEL_ID=a/b refused 1 "no slash"
OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_SIZE=2 refused 1 "2 of 4 processes"
OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=16 refused 2 "16 ranks"

for left in "/dev/shm/tensor_parallel.$(id -u).test.$$."*; do
    if [ -e "$left" ]; then
        echo "left behind: $left"
        failed=1
    fi
done
[ $failed -eq 0 ] && echo PASS
exit $failed
