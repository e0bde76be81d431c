// The episode loop of EPRL (max-diameter, return-gap elimination) and of BPI-UCRL, as plain C++: what bench_episode.py
// compares the compiled Python kernels with. Same order of operations, same tests, same rewards drawn beforehand, so
// that both stop after the same episode. Reads the problem from a binary file; prints tau and nanoseconds of CPU an episode.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <vector>

using std::vector;
static const double INF = std::numeric_limits<double>::infinity();
static const double BIG = std::ldexp(1.0, 1000);

struct Problem {
    int64_t nodes, arcs, horizon, mask;
    vector<int64_t> first, target;
    vector<double> mean, noise, table;
};

static void backward(const Problem& p, const vector<double>& w, vector<double>& v) {
    v[p.nodes] = 0.0;
    int64_t stop = p.first[p.nodes];
    for (int64_t i = p.nodes - 1; i >= 0; --i) {
        const int64_t start = p.first[i];
        double best = -INF;
        for (int64_t e = start; e < stop; ++e) best = std::max(best, w[e] + v[p.target[e]]);
        v[i] = best;
        stop = start;
    }
}

static void walk(const Problem& p, const vector<double>& w, const vector<double>& v, vector<int64_t>& path) {
    int64_t node = 0;
    for (auto& chosen : path) {
        chosen = p.first[node];
        double best = w[chosen] + v[p.target[chosen]];
        for (int64_t e = chosen + 1; e < p.first[node + 1]; ++e) {
            const double x = w[e] + v[p.target[e]];
            if (x > best) best = x, chosen = e;
        }
        node = p.target[chosen];
    }
}

struct Run {
    const Problem& p;
    vector<int64_t> visits, path, degree;
    vector<double> sums, width, bonus, upper, top, lower, top_seen, lower_seen, best, reach, floor, spread, fallen, risen;
    vector<char> active, passable;
    double used = 0, slack = -1, lifted = 0, floor_seen = INF, guard = 0;
    int64_t crowded = 0, infinite, t = 0;

    explicit Run(const Problem& q)
        : p(q), visits(q.arcs), path(q.horizon), degree(q.nodes), sums(q.arcs), width(q.arcs, BIG), bonus(q.arcs, BIG),
          upper(q.arcs, BIG), top(q.arcs, BIG), lower(q.arcs, -INF), top_seen(q.arcs), lower_seen(q.arcs),
          best(q.nodes + 1), reach(q.nodes + 1), floor(q.nodes + 1), spread(q.nodes + 1), fallen(q.horizon),
          risen(q.horizon), active(q.arcs, 1), passable(q.arcs, 1), infinite(q.arcs) {
        for (int64_t i = 0; i < p.nodes; ++i) {
            degree[i] = p.first[i + 1] - p.first[i];
            crowded += degree[i] > 1;
        }
    }

    void absorb() {
        for (int64_t h = 0; h < p.horizon; ++h) {
            const int64_t e = path[h];
            const int64_t n = ++visits[e];
            sums[e] += p.mean[e] + p.noise[(t * p.horizon + h) & p.mask];
            const double b = p.table[n], m = sums[e] / n;
            bonus[e] = b, top[e] = m + b, lower[e] = m - b;
            if (passable[e]) width[e] = b, upper[e] = m + b;
            if (n == 1 && passable[e]) --infinite;
            const double fall = top_seen[e] - top[e] - fallen[h];
            if (fall > 0) fallen[h] += fall, used += fall;
            const double rise = lower[e] - lower_seen[e] - risen[h];
            if (rise > 0) risen[h] += rise, used += rise, lifted += rise;
        }
        ++t;
    }

    void start_over() {
        slack -= used, floor_seen += lifted, used = lifted = 0;
        double largest = 0;
        for (int64_t e = 0; e < p.arcs; ++e) {
            top_seen[e] = top[e], lower_seen[e] = lower[e];
            if (top[e] < BIG / 2) largest = std::max({largest, std::abs(top[e]), std::abs(lower[e])});
        }
        for (int64_t h = 0; h < p.horizon; ++h) fallen[h] = risen[h] = 0;
        guard = 1e-12 * largest * p.horizon;
    }

    void eliminate() {
        if (used + guard < slack) return;
        backward(p, lower, floor);
        backward(p, upper, best);
        std::fill(reach.begin(), reach.end(), -INF);
        reach[0] = 0;
        for (int64_t i = 0; i < p.nodes; ++i)
            for (int64_t e = p.first[i]; e < p.first[i + 1]; ++e)
                reach[p.target[e]] = std::max(reach[p.target[e]], reach[i] + upper[e]);
        bool gone = false;
        double least = INF;
        for (int64_t i = 0; i < p.nodes; ++i)
            for (int64_t e = p.first[i]; e < p.first[i + 1]; ++e)
                if (active[e]) {
                    const double through = reach[i] + upper[e] + best[p.target[e]];
                    if (through < floor[0] || through == -INF) {
                        active[e] = 0, gone = true;
                        if (--degree[i] == 1) --crowded;
                    } else {
                        least = std::min(least, through - floor[0]);
                    }
                }
        start_over();
        slack = gone ? -1 : least;
        if (gone) refresh();
    }

    void refresh() {
        vector<char> reached(p.nodes + 1, 0);
        reached[0] = 1;
        infinite = 0;
        for (int64_t i = 0; i < p.nodes; ++i)
            for (int64_t e = p.first[i]; e < p.first[i + 1]; ++e) {
                passable[e] = reached[i] && (active[e] || degree[i] == 0);
                width[e] = passable[e] ? bonus[e] : -INF;
                upper[e] = passable[e] ? top[e] : -INF;
                if (passable[e]) reached[p.target[e]] = 1, infinite += visits[e] == 0;
            }
    }

    // While an arc is unvisited the walk counts infinities; on these small graphs the plain values do the same.
    int64_t max_diameter(double epsilon, int64_t limit) {
        backward(p, width, spread);
        while (t < limit) {
            walk(p, width, spread, path);
            absorb();
            eliminate();
            backward(p, width, spread);
            if (2 * spread[0] <= epsilon || crowded == 0) break;
        }
        return t;
    }

    int64_t bpi_ucrl(double epsilon, int64_t limit) {
        backward(p, upper, best);
        while (t < limit) {
            walk(p, upper, best, path);
            absorb();
            backward(p, upper, best);
            if (best[0] - floor_seen - lifted > epsilon + guard) continue;
            backward(p, lower, floor);
            start_over();
            floor_seen = floor[0];
            if (best[0] - floor[0] <= epsilon) break;
        }
        return t;
    }
};

template <class T> static void read(FILE* f, vector<T>& v, int64_t n) {
    v.resize(n);
    if (std::fread(v.data(), sizeof(T), n, f) != size_t(n)) std::exit(1);
}

int main(int argc, char** argv) {
    if (argc != 6) return 2;
    FILE* f = std::fopen(argv[1], "rb");
    if (!f) return 2;
    const bool bpi = !std::strcmp(argv[2], "bpi");
    const double epsilon = std::atof(argv[3]);
    const int64_t limit = std::atoll(argv[4]), repeats = std::atoll(argv[5]);
    Problem p;
    vector<int64_t> head;
    read(f, head, 5);
    p.nodes = head[0], p.arcs = head[1], p.horizon = head[2], p.mask = head[3] - 1;
    read(f, p.first, p.nodes + 1), read(f, p.target, p.arcs);
    read(f, p.mean, p.arcs), read(f, p.noise, head[3]), read(f, p.table, head[4]);
    std::fclose(f);
    double least = INF;
    int64_t tau = 0;
    for (int64_t r = 0; r < repeats; ++r) {
        Run run(p);
        const std::clock_t begun = std::clock();
        tau = bpi ? run.bpi_ucrl(epsilon, limit) : run.max_diameter(epsilon, limit);
        least = std::min(least, 1e9 * double(std::clock() - begun) / CLOCKS_PER_SEC / double(tau));
    }
    std::printf("%lld %.3f\n", (long long)tau, least);
}
