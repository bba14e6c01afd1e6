"""check_schema.py [--mutate] SCHEMA RESULT...: validates results with jsonschema, the outside oracle.

--mutate: the schema must refuse the result with any required member removed, and with any scalar of another type.
"""
import copy
import json
import sys

import jsonschema

# Where a part describes itself, the schema leaves members free.
FREE = {"settings", "built", "data", "default", "value", "before", "facts"}


def strict(name):
    raise ValueError(f"{name} is not JSON")


def paths(node, path=()):
    for key, child in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        if key in FREE:
            continue
        yield path + (key,)
        yield from paths(child, path + (key,))


def parent(document, path):
    for key in path[:-1]:
        document = document[key]
    return document


def named_by_the_workload(path):
    """Metrics and losses: their names, and whether they are in groups, are a workload's."""
    return path[0] == "target" and len(path) == 2 or path[0] == "accuracy" and (
        len(path) == 4 or len(path) == 3 and path[2] in ("bbox", "segm")) or path[:3] == ("steps", "loss", "values")


def main():
    mutate = sys.argv[1] == "--mutate"
    schema_file, *result_files = sys.argv[2 if mutate else 1:]
    schema = json.load(open(schema_file))
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    assert result_files, "name a result"
    for name in result_files:
        result = json.load(open(name), parse_constant=strict)
        validator.validate(result)
        if mutate:
            refuses_mutations(validator, result)


def refuses_mutations(validator, result):
    # Keys of the present programs that results of earlier ones lack, and what a machine may not tell.
    optional = {
        "target", "comparisons", "peaks", "checks", "trace", "telemetry", "libraries.libfoo.built",
        "libraries.libfoo.runtime", "default", "convergence", "interrupted", "resumes", "checkpoints", "clocks.lost_s",
        "events", "mlperf", "clocks.mlperf_s", "clocks.dawnbench_s", "injected", "health", "health.replica_checks",
        "health.stragglers", "health.watchdog", "health.gpus", "health.gpus.energy_j", "health.gpus.joules_per_image",
        "health.profile", "recipe.against_defaults"
    }
    # of a comparison: absent from results of earlier programs
    since_1 = {"setting", "design", "factors", "counters", "noise"}
    keyed = (("phase_s", ), ("counters", ), ("noise", ), ("samples", "phase_s", "values"))  # of a comparison
    node_free = {
        "cpu", "cpu_model", "cpu_features", "logical_cores", "usable_cores", "bound_to", "memory_bytes",
        "memory_limit_bytes", "kernel", "os"
    }
    # where the driver tells
    gpu_free = {"power_w", "sm_clock_mhz", "busy_percent", "temperature_c", "memory_bytes", "energy_j"}
    checked = 0
    for path in paths(result):
        name = ".".join(map(str, path))
        open_map = path[:2] in (("provenance", "environment"), ("provenance", "libraries")) or (
            path[0] == "comparisons" and path[2:-1] in keyed
        ) or "slowed_by" in path[:-1] or named_by_the_workload(path)
        optional_here = name in optional or path[:3] == (
            "health", "gpus", "ranks") and len(path) == 5 and path[-1] in gpu_free or path[0] == "comparisons" and len(
                path) == 3 and path[2] in since_1 or path[0] == "comparisons" and path[2:] in (
                    ("samples", "phase_s"), ("samples", "confidence"))
        if not isinstance(path[-1], int) and not open_map and not optional_here and path[-1] not in node_free:
            broken = copy.deepcopy(result)
            del parent(broken, path)[path[-1]]
            assert not validator.is_valid(broken), f"valid without {name}"
            checked += 1
        if path[-1] == "environment":
            continue
        for wrong in (None, {"no": "such"}):
            broken = copy.deepcopy(result)
            parent(broken, path)[path[-1]] = wrong
            assert wrong is not None and name == "provenance.libraries" or not validator.is_valid(
                broken), f"valid with {name} = {wrong}"
            checked += 1
    assert checked > 250, checked


main()
