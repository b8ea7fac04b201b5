"""Small files of every format, in which mutations begin: each shows as much of its format as fits a few lines."""

from __future__ import annotations

import struct

CNF = """c a comment
p cnf 4 6
1 -2 0
-1 3 4 0 2
-3 0
-2 -4 0
4 1 0
0
%
0
"""
WCNF_OLD = """c weighted, hard from the top on
p wcnf 3 5 100
100 1 -2 0
3 2 3 0
7 -1 0
100 -3 1 0
2 -2 0
"""
WCNF_NEW = """h 1 -2 0
3 2 3 0
h -3 1 0
4 -1
2 0
0 3 0
"""
COL = """c a graph
p edge 5 6
n 1 3
e 1 2
e 2 3
e 3 1
e 3 4
e 4 5
e 5 5
"""
RUDY = """4 5
1 2 1
2 3 -2
3 4 0.5
1 4
4 4 3
"""
MTX = """%%MatrixMarket matrix coordinate real symmetric
% a cut
3 3 3
2 1 1.5
3 1 -2
3 2 1e0
"""
MTX_PATTERN = """%%MatrixMarket matrix coordinate pattern symmetric
3 3 2
2 1
3 2
"""
OPB = """* #variable= 4 #constraint= 3
min: +2 x1 -1 ~x3 ;
+1 x1 +4 x1 ~x2 -2 x4 >= 1 ;
1 x2 1 x3 <= 1 ;
+1 x1 +1 x4 = 1 ;
"""
WBO = """* #variable= 3 #constraint= 3
soft: 10 ;
[3] +1 x1 +1 x2 >= 1 ;
[2] -1 x1 >= 0 ;
+2 x1 +3 x3 >= 2 ;
"""
QUBO = """c a comment
p qubo 0 3 2 2
0 0 -1.5
2 2 1
0 1 2
1 2 -3
"""
COO = """# vartype=SPIN
0 0 -1.5
0 1 2
1 2 0.25
"""
FLATZINC = """array [1..2] of int: c = [1, -1];
var 0..3: x :: output_var;
var {0, 2, 5}: y :: output_var;
var bool: b :: output_var;
constraint int_lin_le(c, [x, y], 1);
constraint int_ne_reif(x, y, b);
constraint bool_clause([b], []);
solve minimize x;
"""
BQM = (
    b'DIMODBQM\x02\x00\xb2\x00\x00\x00{"dtype": "float64", "itype": "int32", "ntype": "int32", "shape": [2, 1], '
    b'"type": "BinaryQuadraticModel", "variables": true, "vartype": "SPIN"}\n'
    + 34 * b" "
    + struct.pack("<didididid", 0.5, 0, 1.0, 1, -2.0, 1, 1.5, 0, 1.5)
    + b'VARS8\x00\x00\x00["a", "b"]'
    + 46 * b" "
)
"""As dimod writes it: a header, an offset, two biases with where their couplings begin, the couplings, the labels."""
WCSP = """small 3 3 5 10
2 3 2
1 0 0 1
1 4
2 0 1 2 3
0 0 0
1 2 10
1 1 7
0 3 0
3 0 1 2 -1 salldiff var 5
2 0 2 0 1
1 1 2
"""
CFN = """{ problem: {name: p mustbe: <10.0}
  variables: {x: [a b] y: 3 z: 2}
  functions: { {scope: [x y] costs: [0 1.5 2, 3 4 5]} f: {scope [y], defaultcost: 1 costs: [0 0.04 2 7]}
    g: {scope: [z], costs: [0, inf]} } }
"""
JSON = """{
  "format": "anycsp", "version": 1, "name": "all families",
  "objective": {"kind": "minimize", "scope": ["a", "chairs"],
    "expression": ["add", {"slot": 0}, ["mul", {"slot": 1}, 2]]},
  "domains": {"slot": ["9am", "10am", "11am"], "d": {"low": -1, "high": 7}},
  "variables": [
    {"names": ["a", "b", "c"], "domain": "slot"},
    {"name": "chairs", "domain": "2..5"},
    {"name": "d", "domain": "d"},
    {"name": "e", "domain": [0, 1, 2, 3], "definition": {"scope": ["a"], "expression": ["add", {"slot": 0}, 1]}}
  ],
  "constraints": [
    {"kind": "all_different", "scope": ["a", "b", "c"], "hard": true, "except": [2]},
    {"kind": "linear", "scope": ["a", "b"], "coefficients": [1, -1], "operator": "<", "bound": 0},
    {"kind": "table", "scopes": [["a"], ["b"]], "forbidden": [["9am"]]},
    {"kind": "short_table", "scope": ["a", "b"], "allowed": [["*", [1, 2]], [[0], "*"]]},
    {"kind": "clause", "scope": ["a", "chairs"], "forbidden": ["9am", 3]},
    {"kind": "sum", "scope": ["a", "chairs"], "contributions": [[[0, 1]], [[2, 3], [5, -1]]],
     "operator": ">=", "bound": 1},
    {"kind": "extremum", "scope": ["a", "b"], "terms": [[[0, 1], [1, 2], [2, 0]], [[0, 0], [1, 1], [2, 2]]],
     "operator": "<=", "bound": 2, "result": false},
    {"kind": "distinct", "scope": ["a", "b", "c"], "operator": ">=", "bound": 2, "except": [0]},
    {"kind": "rule", "scope": ["a", "b", "d"], 
     "expression": ["ge", ["div", {"slot": 2}, {"slot": 0}], ["pow", {"slot": 1}, 2]]}
  ]
}
"""

JSON_SOFT = """{
  "format": "anycsp", "version": 1, "name": "wishes",
  "variables": [{"names": ["a", "b"], "domain": ["9am", "10am"]}, {"name": "c", "domain": "0..3"}],
  "constraints": [
    {"kind": "all_different", "scope": ["a", "b"], "hard": true},
    {"kind": "table", "scopes": [["a"], ["b"]], "forbidden": [["9am"]], "weight": [2, 0.5]},
    {"kind": "linear", "scope": ["c"], "coefficients": [2], "operator": "==", "bound": 3, "weight": 1e-3}
  ]
}
"""

_CONSTRAINTS = (
    "<intension> eq(add(x[0],x[1]),x[2]) </intension>",
    "<intension> imp(in(x[0],set(1,2)),ne(dist(x[1],x[2]),div(x[0],x[1]))) </intension>",
    "<extension><list> x[] </list><supports> (0,*,1)(2,2,*) </supports></extension>",
    "<extension><list> x[0] x[1] </list><conflicts> (0,0)(1,2)(7,7) </conflicts></extension>",
    "<extension><list> x[1] </list><supports> 0 2..3 </supports></extension>",
    "<allDifferent> x[] </allDifferent>",
    "<allDifferent><list> x[] </list><except> 0 </except></allDifferent>",
    "<allEqual> x[] </allEqual>",
    "<ordered><list> x[] </list><lengths> 1 0 </lengths><operator> lt </operator></ordered>",
    "<lex><list> x[0] x[1] </list><list> x[1] x[2] </list><operator> le </operator></lex>",
    "<sum><list> x[] </list><coeffs> 1 2 -1 </coeffs><condition> (in,1..2) </condition></sum>",
    "<sum><list> x[0] x[1] </list><condition> (gt,x[2]) </condition></sum>",
    "<count><list> x[0] x[1] </list><values> 1 2 </values><condition> (eq,x[2]) </condition></count>",
    "<nValues><list> x[] </list><condition> (le,2) </condition></nValues>",
    '<cardinality><list> x[] </list><values closed="true"> 0 1 </values><occurs> 1..2 1 </occurs></cardinality>',
    "<maximum><list> x[0] x[1] </list><condition> (eq,x[2]) </condition></maximum>",
    "<minimum><list> x[] </list><condition> (ge,1) </condition></minimum>",
    "<element><list> x[0] x[1] </list><index> x[2] </index><value> 2 </value></element>",
    "<element><matrix> (0,1,2)(1,2,0)(2,0,1) </matrix><index> x[0] x[1] </index><value> x[2] </value></element>",
    "<channel><list> x[] </list></channel>",
    "<circuit><list> x[] </list></circuit>",
    "<noOverlap><origins> x[] </origins><lengths> 1 1 1 </lengths></noOverlap>",
    "<cumulative><origins> x[] </origins><lengths> 2 1 1 </lengths><heights> 1 2 1 </heights>"
    "<condition> (le,2) </condition></cumulative>",
    "<binPacking><list> x[] </list><sizes> 2 1 1 </sizes><condition> (le,2) </condition></binPacking>",
    "<knapsack><list> x[] </list><weights> 1 2 3 </weights><condition> (le,5) </condition>"
    "<profits> 1 1 1 </profits><condition> (ge,2) </condition></knapsack>",
    "<instantiation><list> x[0] x[2] </list><values> 1 2 </values></instantiation>",
    "<regular><list> x[] </list><transitions> (a,0,a)(a,1,b)(b,2,b) </transitions><start> a </start>"
    "<final> b </final></regular>",
    "<mdd><list> x[] </list><transitions> (r,0,n)(r,1,m)(n,1,p)(m,2,p)(p,0,t)(p,2,t) </transitions></mdd>",
    "<precedence><list> x[] </list><values> 0 1 2 </values></precedence>",
    "<clause> b[0] not(b[1]) </clause>",
    "<group><intension> lt(%0,%1) </intension><args> x[0] x[1] </args><args> x[1] x[2] </args></group>",
    '<slide circular="true"><list> x[] </list><intension> ne(%0,%1) </intension></slide>',
    "<block><allDifferent> x[0] x[1] </allDifferent><block><allEqual> x[1] x[2] </allEqual></block></block>",
)
_VARIABLES = (
    '<array id="x" size="[3]"> 0..2 </array><array id="b" size="[2]"> 0 1 </array>'
    '<var id="s" type="symbolic"> red green </var>'
)
_OBJECTIVES = (
    "",
    '<objectives><maximize type="sum"><list> x[] </list><coeffs> 1 2 3 </coeffs></maximize></objectives>',
    "<objectives><minimize> add(x[0],mul(2,x[1])) </minimize></objectives>",
    '<objectives><minimize type="nValues"> x[] </minimize></objectives>',
)


def _xcsp3(constraint: str, objective: str) -> str:
    return (
        f'<instance format="XCSP3" type="{"COP" if objective else "CSP"}">\n<variables>\n{_VARIABLES}\n</variables>\n'
        f"<constraints>\n{constraint}\n</constraints>\n{objective}\n</instance>\n"
    )


XCSP3 = [_xcsp3(c, _OBJECTIVES[i % len(_OBJECTIVES)]) for i, c in enumerate(_CONSTRAINTS)]

FILES: dict[str, list[bytes]] = {
    "x.cnf": [CNF.encode()],
    "x.wcnf": [WCNF_OLD.encode(), WCNF_NEW.encode()],
    "x.col": [COL.encode()],
    "x.rud": [RUDY.encode()],
    "x.mtx": [MTX.encode(), MTX_PATTERN.encode()],
    "x.opb": [OPB.encode(), WBO.encode()],
    "x.qubo": [QUBO.encode()],
    "x.coo": [COO.encode()],
    "x.bqm": [BQM],
    "x.wcsp": [WCSP.encode()],
    "x.cfn": [CFN.encode()],
    "x.json": [JSON.encode(), JSON_SOFT.encode()],
    "x.fzn": [FLATZINC.encode()],
    "x.xml": [text.encode() for text in XCSP3],
}
"""By a name whose ending says the format."""

ANSWERS = (
    "s SATISFIABLE\no 3\nv 1 -2 3 4 0\n",
    "v 0 1 2 1 0\n",
    'v "9am" 1 2 3 -1\ns UNKNOWN\n',
    '{"status": "best-effort", "violated": 1, "assignment": {"1": 1, "2": 0, "3": 1, "4": 0}}\n',
    '{"a": "9am", "b": "10am", "c": 2, "chairs": 3, "d": "low"}\n',
    "[0, 1, 2, 3, 4]\n",
    "v <instantiation> <list> x[] b[] s </list> <values> 0 1 2 0 1 red </values> </instantiation>\n",
)
