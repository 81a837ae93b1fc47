#!/bin/sh
# Stands for a program that the pages call and the test does not run, by the name under which it is
# called. It refuses arguments that the program does not have, as far as it can.

program=${0##*/}

fail() {
    echo "$program: $1" >&2
    exit 64
}

# one_of WORD WORDS...: whether the first is among the others.
one_of() {
    argument=$1
    shift
    for one in "$@"; do
        [ "$one" = "$argument" ] && return
    done
    fail "$argument is none of the known ones: $*"
}

# files ARGUMENTS...: every file behind -f and --filename is there.
files() {
    while [ $# -gt 0 ]; do
        case $1 in
        -f | --filename)
            [ "$2" = - ] || [ -e "$2" ] || fail "there is no file $2"
            shift
            ;;
        esac
        shift
    done
}

# crate_of ARGUMENTS...: the crate behind -p and the test behind --test are there.
crate_of() {
    crate=
    while [ $# -gt 0 ]; do
        case $1 in
        --) return ;;
        -p)
            crate=crates/$2
            [ "$2" = tests ] && crate=tests
            [ -e "$crate/Cargo.toml" ] || fail "there is no crate $2"
            ;;
        --test)
            [ -e "$crate/tests/$2.rs" ] || [ -e "$crate/tests/$2/main.rs" ] ||
                fail "$crate has no test $2"
            ;;
        esac
        shift
    done
}

case $program in
kubectl)
    one_of "$1" annotate apply create delete describe exec get label logs patch port-forward \
        rollout scale wait
    files "$@"
    case " $* " in
    # A cluster has what the page has shown.
    *" get "*" -o yaml "*) cat "$CLUSTER" ;;
    # A line that pages search for; a test of the function checks that it is written.
    *" logs "*) echo '{"message":"Flavors applied"}' ;;
    esac
    ;;
asya)
    case " $* " in
    " diff --cluster "*)
        shift 2
        exec "$ASYA" diff - "$@" <"$CLUSTER"
        ;;
    esac
    [ "$1" = status ] || exec "$ASYA" "$@"
    case " $* " in
    *" -f "*) exec "$ASYA" "$@" ;;
    esac
    # It would ask a cluster, or watch one for ever.
    help=$("$ASYA" status --help)
    for argument in "$@"; do
        case $argument in
        -*)
            case $help in
            *" $argument"*) ;;
            *) fail "status has no $argument" ;;
            esac
            ;;
        esac
    done
    ;;
cargo)
    task=$1
    one_of "$task" build install run test xtask
    shift
    case $task in
    install) [ -e "$2/Cargo.toml" ] || fail "there is no crate in $2" ;;
    run)
        crate_of "$@"
        while [ "$1" != -- ]; do shift; done
        shift
        exec asya "$@"
        ;;
    xtask)
        grep -qi "^    $(echo "$1" | tr -d -)[ ,({]" crates/xtask/src/main.rs || fail "xtask has no task $1"
        if [ "$1" = package ]; then
            mkdir -p target/packages/linux-amd64
            : >target/packages/linux-amd64/asya.xpkg
        fi
        ;;
    *) crate_of "$@" ;;
    esac
    ;;
crossplane) one_of "$1" beta composition render resource version xpkg ;;
helm) one_of "$1" install list repo template uninstall upgrade ;;
esac
