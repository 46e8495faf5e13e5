"""Cells about nodes of one side against each other: a variable or a version that is another on one node."""
import audit

VARIABLES = {
    "HCCL_DETERMINISTIC": ("true", "false"),
    "NVIDIA_TF32_OVERRIDE": ("0", "1"),
    "PYTHONHASHSEED": ("0", "1"),
    "CUBLAS_WORKSPACE_CONFIG": (":4096:8", ":16:8"),
}
OWN = {
    "HOSTNAME": "node-{}",
    "NODE_RANK": "{}",
    "HCCL_IF_IP": "10.0.0.{}",
    "PWD": "/root/{}",
    "SSH_CLIENT": "10.0.0.9 5{} 22",
}
PACKAGES = {"torch": ("2.1.0", "2.1.1"), "transformers": ("4.38.2", "4.40.0"), "numpy": ("1.26.4", "1.24.0")}
NODES = 4


def node_plan(side, node, variables, packages):
    own = {name: value.format(node) for name, value in OWN.items()}
    texts = {
        "env.txt": "".join(f"{n}={v}\n" for n, v in sorted({**own, **variables, "WORLD_SIZE": "32"}.items())),
        "pip.txt": "".join(f"{n}=={v}\n" for n, v in packages.items()),
    }
    return audit.Plan(
        {
            "run": side,
            "node": f"{side}-{node}",
            "framework": "pytorch",
            "settings": [{"file": "env.txt", "kind": "environment"}, {"file": "pip.txt", "kind": "packages"}],
        },
        {name: text.encode() for name, text in texts.items()},
    )


def fleet(odd_side=None, odd_node=None, variable=None, package=None, absent=False):
    sides = {}
    for side in ("baseline", "migrated"):
        sides[side] = []
        for node in range(NODES):
            variables = {name: values[0] for name, values in VARIABLES.items()}
            packages = {name: values[0] for name, values in PACKAGES.items()}
            if (side, node) == (odd_side, odd_node):
                if variable and absent:
                    del variables[variable]
                elif variable:
                    variables[variable] = VARIABLES[variable][1]
                if package:
                    packages[package] = PACKAGES[package][1]
            sides[side].append(node_plan(side, node, variables, packages))
    return audit.Audit(**sides)


def cells(_):
    checked = ("cluster.consistency.versions", "cluster.consistency.variables")
    yield audit.Cell("cluster/files", "healthy", "", lambda: [fleet()], audit.judge_healthy(checked))
    for side in ("baseline", "migrated"):
        for node in (0, NODES - 1):
            for name in VARIABLES:
                for absent in (False, True):
                    yield audit.Cell(
                        "cluster/files",
                        "variable_absent" if absent else "variable_differs",
                        f"{name},{side},{node}",
                        lambda a=(side, node, name, None, absent): [fleet(*a)],
                        audit.judge_fault(checked[1:], ("variable_differs", "only_on_one_side")),
                    )
            for name in PACKAGES:
                yield audit.Cell(
                    "cluster/files",
                    "version_differs",
                    f"{name},{side},{node}",
                    lambda a=(side, node, None, name): [fleet(*a)],
                    audit.judge_fault(checked[:1], ("version_differs",)),
                )
