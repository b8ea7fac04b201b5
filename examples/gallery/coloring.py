"""Graph colouring from networkx: the members of a karate club, friends in different colours."""

import networkx as nx
from picture import graph, show

from anycsp import solve
from anycsp.integrations.networkx import coloring

COLORS = 5


def main() -> str:
    club = nx.karate_club_graph()
    problem = coloring(club, COLORS)
    result = solve(problem, time_limit=5)
    print(f"{result.status}: {len(club)} members, {club.number_of_edges()} friendships, {COLORS} colours")
    layout = nx.spring_layout(club, seed=3)
    points = [((layout[v][0] + 1) / 2, (layout[v][1] + 1) / 2) for v in club]
    return graph(points, list(club.edges()), [int(result[str(v)]) for v in club], size=420)


if __name__ == "__main__":
    show(__file__, main)
