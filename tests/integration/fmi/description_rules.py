"""The rules of modelDescription.xml of FMI 2.0 and 3.0, as stated in the schema files and the text of the standard
(https://fmi-standard.org/docs/2.0.5, sections 2.2 and 4.3; https://fmi-standard.org/docs/3.0.2, section 2.4)."""
import math
import re

COMMON = {"fmiVersion", "modelName", "description", "author", "version", "copyright", "license", "generationTool",
          "generationDateAndTime", "variableNamingConvention"}
KIND = {"modelIdentifier", "needsExecutionTool", "canBeInstantiatedOnlyOncePerProcess"}
KIND_2 = KIND | {"canNotUseMemoryManagementFunctions", "canGetAndSetFMUstate", "canSerializeFMUstate", "providesDirectionalDerivative"}
KIND_3 = KIND | {"canGetAndSetFMUState", "canSerializeFMUState", "providesDirectionalDerivatives", "providesAdjointDerivatives",
                 "providesPerElementDependencies", "providesEvaluateDiscreteStates"}
ATTRIBUTES = {
    2: {"fmiModelDescription": COMMON | {"guid", "numberOfEventIndicators"},
        "ModelExchange": KIND_2 | {"completedIntegratorStepNotNeeded"},
        "CoSimulation": KIND_2 | {"canHandleVariableCommunicationStepSize", "canInterpolateInputs", "maxOutputDerivativeOrder",
                                  "canRunAsynchronuously"}},
    3: {"fmiModelDescription": COMMON | {"instantiationToken"},
        "ModelExchange": KIND_3 | {"needsCompletedIntegratorStep"},
        "CoSimulation": KIND_3 | {"canHandleVariableCommunicationStepSize", "fixedInternalStepSize", "maxOutputDerivativeOrder",
                                  "recommendedIntermediateInputSmoothness", "providesIntermediateUpdate", "mightReturnEarlyFromDoStep",
                                  "canReturnEarlyAfterIntermediateUpdate", "hasEventMode"}}}
ORDER = {2: ["ModelExchange", "CoSimulation", "UnitDefinitions", "TypeDefinitions", "LogCategories", "DefaultExperiment",
             "VendorAnnotations", "ModelVariables", "ModelStructure"],
         3: ["ModelExchange", "CoSimulation", "ScheduledExecution", "UnitDefinitions", "TypeDefinitions", "LogCategories",
             "DefaultExperiment", "ModelVariables", "ModelStructure", "Annotations"]}
STRUCTURE = {2: ["Outputs", "Derivatives", "DiscreteStates", "InitialUnknowns"],
             3: ["Output", "ContinuousStateDerivative", "ClockedState", "InitialUnknown", "EventIndicator"]}
FLOATS = {"Real", "Float64", "Float32"}
NUMBERS = FLOATS | {"Integer", "Enumeration"} | {f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)}
TYPES = {2: {"Real", "Integer", "Boolean", "String", "Enumeration"}, 3: NUMBERS - {"Real", "Integer"} | {"Boolean", "String", "Binary", "Clock"}}
VARIABILITY = {"parameter": {"fixed", "tunable"}, "calculatedParameter": {"fixed", "tunable"}, "input": {"discrete", "continuous"},
               "output": {"constant", "discrete", "continuous"}, "local": {"constant", "fixed", "tunable", "discrete", "continuous"},
               "independent": {"continuous"}, "structuralParameter": {"fixed", "tunable"}}
# xs:double writes infinities in capitals.
DOUBLE = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|-?INF|NaN")


class Variable:
    """One variable of either version, with the defaults of the standard."""

    def __init__(self, version, place, node):
        typed = node[0] if version == 2 else node
        self.place, self.name, self.type = place, node.get("name"), typed.tag
        self.reference = int(node.get("valueReference"))
        self.causality = node.get("causality", "local")
        self.variability = node.get("variability", "continuous" if self.type in FLOATS else "discrete")
        if self.causality in ("parameter", "calculatedParameter", "structuralParameter"):
            self.variability = node.get("variability", "fixed")
        self.given_initial = node.get("initial")
        self.initial = self.given_initial or self.default_initial()
        texts = [start.get("value") for start in typed.findall("Start")]
        self.start = texts[0] if version == 3 and texts else typed.get("start")
        self.values = typed
        self.derivative = typed.get("derivative")
        self.dimensions = node.findall("Dimension")
        self.clocks = (node.get("clocks") or "").split()
        self.aliases = [alias.get("name") for alias in node.findall("Alias")]
        self.inside_steps = node.get("intermediateUpdate") == "true"

    def default_initial(self):
        if self.causality in ("input", "independent"):
            return None
        is_given = self.causality in ("parameter", "structuralParameter") or self.variability == "constant"
        return "exact" if is_given else "calculated"


def broken_rules(root):
    """Messages, one for each violated rule; empty = a description accepted by importers."""
    version = 2 if root.get("fmiVersion") == "2.0" else 3
    said = []

    def need(holds, sentence):
        if not holds:
            said.append(sentence)

    check_root(root, version, need)
    variables = [Variable(version, i, node) for i, node in enumerate(root.find("ModelVariables"))]
    units = {unit.get("name") for unit in root.iterfind("UnitDefinitions/Unit")}
    types = {declared.get("name"): declared for declared in root.find("TypeDefinitions") or []}
    references = {v.reference: v for v in variables}
    names = [name for v in variables for name in (v.name, *v.aliases)]
    need(len(set(names)) == len(names), "names of variables and aliases are unique")
    need(not set(names) & set(types), "no type has the name of a variable")
    for v in variables:
        check_variable(v, version, units, types, references, need)
    check_references(variables, version, need)
    independent = [v for v in variables if v.causality == "independent"]
    need(len(independent) == 1 or (version == 2 and not independent), "one independent variable")
    need(all(v.type in FLOATS for v in independent), "the independent variable is a real number")
    check_structure(root, version, variables, need)
    return said


def check_root(root, version, need):
    token = "guid" if version == 2 else "instantiationToken"
    for attribute in ("modelName", token):
        need(root.get(attribute), f"{attribute} exists")
    need(root.get("variableNamingConvention", "flat") in ("flat", "structured"), "variableNamingConvention is flat or structured")
    order = [child.tag for child in root]
    need(order == sorted(order, key=lambda tag: ORDER[version].index(tag) if tag in ORDER[version] else -1) and
         set(order) <= set(ORDER[version]) and len(set(order)) == len(order), "elements of the root: known, once, in order")
    kinds = [root.find(kind) for kind in ("ModelExchange", "CoSimulation", "ScheduledExecution")]
    need(any(kind is not None for kind in kinds), "it is a unit for something")
    for element in [root, *(kind for kind in kinds if kind is not None)]:
        known = ATTRIBUTES[version].get(element.tag, element.attrib)
        need({name for name in element.attrib if not name.startswith("{")} <= set(known), f"attributes of {element.tag} are known")
    for kind in (kind for kind in kinds if kind is not None):
        need(re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", kind.get("modelIdentifier", "")), "modelIdentifier is an identifier of C")
        state = "state" if version == 2 else "State"
        saves = kind.get(f"canGetAndSetFMU{state}") == "true"
        need(saves or kind.get(f"canSerializeFMU{state}") != "true", "a state that is serialised can be taken")
        need(kind.get("canReturnEarlyAfterIntermediateUpdate") != "true" or kind.get("providesIntermediateUpdate") == "true",
             "early return after an intermediate update requires some")
    for base in root.iterfind("UnitDefinitions/Unit/BaseUnit"):
        exponents = {k: v for k, v in base.attrib.items() if k not in ("factor", "offset")}
        need(set(exponents) <= {"kg", "m", "s", "A", "K", "mol", "cd", "rad"}, "base units are those of the SI")
        need(all(re.fullmatch(r"-?\d+", v) for v in exponents.values()), "exponents of base units are whole")
    for place in ("UnitDefinitions", "TypeDefinitions", "LogCategories"):
        listed = [child.get("name") for child in root.find(place) or []]
        need(all(listed) and len(set(listed)) == len(listed), f"names in {place} are unique")
    experiment = root.find("DefaultExperiment")
    if experiment is not None:
        start, stop = (float(experiment.get(name, default)) for name, default in (("startTime", 0), ("stopTime", math.inf)))
        need(start < stop and float(experiment.get("stepSize", 1)) > 0, "the experiment goes forward in time")


def check_variable(v, version, units, types, references, need):
    def rule(holds, sentence):
        need(holds, f"{v.name}: {sentence}")

    rule(v.name and not re.search(r"[\r\n\t]", v.name), "a name has a text without line breaks")
    rule(v.type in TYPES[version], "its type is one of the version")
    rule(v.variability in VARIABILITY[v.causality], f"{v.causality} is not {v.variability}")
    rule(v.variability != "continuous" or v.type in FLOATS, "only real numbers are continuous")
    # The table of `initial`.
    if v.causality in ("input", "independent"):
        rule(v.given_initial is None, f"{v.causality} has no initial")
    elif v.causality in ("parameter", "structuralParameter") or v.variability == "constant":
        rule(v.initial == "exact", "initial of what is given is exact")
    elif v.causality == "calculatedParameter" or (v.causality == "local" and v.variability in ("fixed", "tunable")):
        rule(v.initial in ("approx", "calculated"), "initial of what is calculated is approx or calculated")
    has_start = v.initial in ("exact", "approx") or v.causality == "input"
    rule((v.start is not None) == has_start, "a start value if prescribed or a guess, and only then")
    if v.type in NUMBERS:
        numbers = {name: v.values.get(name) for name in ("min", "max", "nominal") if v.values.get(name) is not None}
        starts = (v.start or "").split()
        rule(all(DOUBLE.fullmatch(text) for text in [*numbers.values(), *starts]), "numbers are written as required by XML")
        low, high = float(numbers.get("min", "-inf")), float(numbers.get("max", "inf"))
        rule(low <= high and all(low <= float(text) <= high for text in starts), "min <= start <= max")
        rule(float(numbers.get("nominal", 1.0)) > 0.0, "nominal > 0")
        size = math.prod(int(d.get("start")) for d in v.dimensions if d.get("start"))
        rule(not starts or len(starts) in (1, size) or any(d.get("valueReference") for d in v.dimensions), "as many starts as entries")
    for dimension in v.dimensions:
        by = references.get(int(dimension.get("valueReference", -1)))
        rule((dimension.get("start") is None) != (dimension.get("valueReference") is None), "a dimension by number or by variable")
        rule(by is None or by.causality == "structuralParameter", "a dimension follows a structural parameter")
    rule(all(int(clock) in references and references[int(clock)].type == "Clock" for clock in v.clocks), "its clocks are clocks")
    rule(not v.inside_steps or (version == 3 and v.causality not in ("parameter", "structuralParameter", "independent")),
         "intermediateUpdate is for variables that change inside steps")
    unit, declared = v.values.get("unit"), v.values.get("declaredType")
    rule(unit is None or (unit in units and v.type in FLOATS), "its unit is defined")
    if declared is not None:
        rule(declared in types, "its type is defined")
        if declared in types:
            holder = types[declared][0] if version == 2 else types[declared]
            rule(holder.tag.removesuffix("Type") == v.type, "its type is one of its kind")
            rule(unit is None or holder.get("unit") in (unit, None), "its unit is that of its type")


def check_references(variables, version, need):
    """Version 3 has elements for aliases; in version 2 variables of one type that share a reference are aliases, of which one
    at most is set from outside."""
    sets = {}
    for v in variables:
        sets.setdefault(v.reference if version == 3 else (v.reference, "Integer" if v.type == "Enumeration" else v.type), []).append(v)
    for shared in sets.values():
        need(version == 2 or len(shared) == 1, f"{shared[0].name}: value references are unique")
        need(sum(v.causality in ("input", "parameter", "independent") for v in shared) <= 1, f"{shared[0].name}: one alias is set")


def check_structure(root, version, variables, need):
    structure = root.find("ModelStructure")
    tags = [child.tag for child in structure]
    order = STRUCTURE[version]
    need(set(tags) <= set(order) and tags == sorted(tags, key=lambda tag: order.index(tag) if tag in order else -1),
         "ModelStructure: its lists in the order of the schema")
    # By position in the file; version 2 counts from 1.
    by_key = {v.place + 1 if version == 2 else v.reference: v for v in variables}
    key = "index" if version == 2 else "valueReference"
    listed = {}
    for tag in order:
        entries = structure.findall(f"{tag}/Unknown" if version == 2 else tag)
        for entry in entries:
            need(int(entry.get(key)) in by_key, f"{tag}: {entry.get(key)} is a variable")
        listed[tag] = [by_key[int(entry.get(key))] for entry in entries if int(entry.get(key)) in by_key]
        need(len({v.place for v in listed[tag]}) == len(listed[tag]), f"{tag}: each once")
        for entry in entries:
            check_dependencies(entry, tag, version, by_key, variables, need)
    rates = [v for v in variables if v.derivative is not None]
    states = [by_key.get(int(v.derivative)) for v in rates]
    need(None not in states, "a derivative refers to a variable")
    for rate, state in zip(rates, states):
        holds = state is not None and all(v.type in FLOATS and v.variability == "continuous" for v in (rate, state))
        need(holds and state.causality in ("local", "output"), f"{rate.name}: the derivative of a continuous state")
    is_exchange = root.find("ModelExchange") is not None
    outputs, derivatives, initial = order[0], order[1], order[3]
    need({v.place for v in listed[outputs]} == {v.place for v in variables if v.causality == "output"}, f"{outputs}: all outputs")
    need(not is_exchange or listed[derivatives] == rates, f"{derivatives}: all derivatives of states")
    unknown = [v for v in variables if v.initial in ("approx", "calculated") and (
        v.causality in ("output", "calculatedParameter") or v in rates or v in states)]
    need(listed[initial] == unknown, f"{initial}: all unknowns of the initialisation, in the order of the variables")
    if version == 2:
        need((root.get("numberOfEventIndicators") is not None) <= is_exchange, "event indicators are those of model exchange")
    for v in listed.get("EventIndicator", []):
        need(v.type in FLOATS and v.variability == "continuous", f"{v.name}: an event indicator is continuous")


def check_dependencies(entry, tag, version, by_key, variables, need):
    text, kinds = entry.get("dependencies"), entry.get("dependenciesKind")
    need(kinds is None or text is not None, f"{tag}: kinds of existing dependencies")
    if text is None:
        return
    known = [int(word) for word in text.split()]
    need(all(k in by_key for k in known) and len(set(known)) == len(known), f"{tag}: dependencies are variables, each once")
    need(version == 3 or known == sorted(known), f"{tag}: dependencies in ascending order")
    if kinds is not None:
        allowed = {"dependent", "constant"} if tag in ("InitialUnknowns", "InitialUnknown") else {
            "dependent", "constant", "fixed", "tunable", "discrete"}
        need(len(kinds.split()) == len(known) and set(kinds.split()) <= allowed, f"{tag}: a kind for each dependency")
    states = {int(v.derivative) for v in variables if v.derivative is not None}
    is_known = [k in states or by_key[k].causality in ("input", "independent", "parameter", "structuralParameter") for k in known if k in by_key]
    need(all(is_known), f"{tag}: dependencies are inputs, states or time, or parameters at the start")
