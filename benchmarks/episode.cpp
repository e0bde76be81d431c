// The episode loop of EPRL (max-diameter, return-gap elimination) and of BPI-UCRL, as plain C++: what bench_episode.py
// compares the compiled Python kernels with. Same order of operations, same tests, same rewards drawn beforehand, so
// that both stop after the same episode. It handles what the kernels handle in these two learners: a sigma for each arc,
// widths from a table and beyond it, a largest width, known arcs, ties, periods and the counts of unvisited arcs. Left
// out are the other schedules and the rows that tell which values are fresh. A third learner is BPI-UCRL as the authors
// ran it (preset experiment), many short runs one after the other: value-based eliminations and the stop are judged every
// S * A episodes, by passes each time.
// Reads the problem from a binary file; prints tau and nanoseconds of CPU an episode (of short runs: both in the mean).
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
    int64_t nodes, arcs, horizon, authors, least_played, periods;
    double factor, delta, cap;
    vector<uint32_t> first, target;
    vector<double> mean, noise, table, sigma, gain;
    vector<char> known;

    double base(double n) const {
        return std::sqrt(2 * std::log(authors ? (n + 1) / delta : 4 * n * n * factor / delta) / n);
    }
};

static void backward(const Problem& p, const vector<double>& w, vector<double>& v) {
    v[p.nodes] = 0.0;
    uint32_t stop = p.first[p.nodes];
    for (int64_t i = p.nodes - 1; i >= 0; --i) {
        const uint32_t start = p.first[i];
        double best = w[start] + v[p.target[start]];
        if (start + 1 < stop) best = std::max(best, w[start + 1] + v[p.target[start + 1]]);
        for (uint32_t e = start + 2; e < stop; ++e) best = std::max(best, w[e] + v[p.target[e]]);
        v[i] = best;
        stop = start;
    }
}

struct Run {
    const Problem& p;
    vector<int64_t> visits, degree;
    vector<double> sums, width, upper, top, lower, top_seen, lower_seen, best, reach, floor, spread, fallen, risen;
    vector<char> active, passable, started;
    double allowance = 0, used = 0, slack = -1, lifted = 0, floor_seen = INF, guard = 0;
    int64_t crowded = 0, infinite, unseen, unseen_active, t = 0, at, period, low;

    explicit Run(const Problem& q, int64_t first_noise = 0)
        : p(q), visits(q.arcs), degree(q.nodes), sums(q.arcs), width(q.arcs, std::min(BIG, q.cap)),
          upper(q.arcs, std::min(BIG, q.cap)), top(q.arcs, std::min(BIG, q.cap)), lower(q.arcs, -q.cap), top_seen(q.arcs), lower_seen(q.arcs),
          best(q.nodes + 1), reach(q.nodes + 1), floor(q.nodes + 1), spread(q.nodes + 1), fallen(q.horizon),
          risen(q.horizon), active(q.arcs, 1), passable(q.arcs, 1), started(q.arcs, 1), infinite(0), at(first_noise) {
        for (int64_t e = 0; e < p.arcs; ++e) {
            if (p.known[e])
                width[e] = 0, upper[e] = top[e] = lower[e] = p.gain[e];
            else
                ++infinite;
        }
        unseen = unseen_active = infinite;
        period = p.periods ? 1 : -1, low = p.periods ? infinite : 1;
        for (int64_t i = 0; i < p.nodes; ++i) {
            degree[i] = p.first[i + 1] - p.first[i];
            crowded += degree[i] > 1;
        }
    }

    double width_of(int64_t e) const {
        if (p.known[e]) return 0;
        const int64_t n = visits[e];
        if (n == 0) return BIG;
        return std::min(p.sigma[e] * (n < int64_t(p.table.size()) ? p.table[n] : p.base(double(n))), p.cap);
    }

    // One episode: walk by these weights and values, take the rewards in, note bounds that left what their stage allows.
    void episode(const vector<double>& w, const vector<double>& v) {
        uint32_t node = 0;
        for (int64_t h = 0; h < p.horizon; ++h) {
            uint32_t e = p.first[node];
            double most = w[e] + v[p.target[e]];
            for (uint32_t other = e + 1; other < p.first[node + 1]; ++other) {
                const double x = w[other] + v[p.target[other]];
                if (x > most) most = x, e = other;
                else if (p.least_played && x == most && visits[other] < visits[e]) e = other;
            }
            node = p.target[e];
            const int64_t n = ++visits[e];
            const double z = p.noise[at++];
            if (p.known[e]) continue;
            sums[e] += p.mean[e] + z;
            const double b = width_of(e), m = sums[e] / n;
            top[e] = m + b, lower[e] = m - b;
            if (passable[e]) width[e] = b, upper[e] = m + b;
            if (n == 1) --unseen, unseen_active -= active[e], infinite -= passable[e];
            if (n == period && active[e]) --low;
            if (top_seen[e] - top[e] > fallen[h] || lower[e] - lower_seen[e] > risen[h]) note(h, e);
        }
        ++t;
    }

    void note(int64_t h, int64_t e) {
        const double fall = top_seen[e] - top[e] + allowance - fallen[h];
        if (fall > 0) fallen[h] += fall, used += fall;
        const double rise = lower[e] + allowance - lower_seen[e] - risen[h];
        if (rise > 0) risen[h] += rise, used += rise, lifted += rise;
    }

    void set_allowance(double spare) { allowance = std::max(0.0, spare) / (16.0 * double(p.horizon)); }

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
        backward(p, lower, floor);
        backward(p, upper, best);
        std::fill(reach.begin(), reach.end(), -INF);
        reach[0] = 0;
        for (int64_t i = 0; i < p.nodes; ++i)
            for (int64_t e = p.first[i]; e < p.first[i + 1]; ++e)
                reach[p.target[e]] = std::max(reach[p.target[e]], reach[i] + upper[e]);
        bool removed = false;
        double least = INF;
        for (int64_t i = 0; i < p.nodes; ++i)
            for (int64_t e = p.first[i]; e < p.first[i + 1]; ++e)
                if (active[e]) {
                    const double through = reach[i] + upper[e] + best[p.target[e]];
                    if (through < floor[0] || through == -INF) {
                        active[e] = 0, removed = true;
                        if (--degree[i] == 1) --crowded;
                        if (!p.known[e]) low -= visits[e] < period, unseen_active -= visits[e] == 0;
                    } else {
                        least = std::min(least, through - floor[0]);
                    }
                }
        start_over();
        slack = removed ? -1 : least;
        if (removed) refresh();
    }

    void refresh() {
        vector<char> reached(p.nodes + 1, 0);
        reached[0] = 1;
        infinite = 0;
        for (int64_t i = 0; i < p.nodes; ++i)
            for (int64_t e = p.first[i]; e < p.first[i + 1]; ++e) {
                passable[e] = reached[i] && (active[e] || degree[i] == 0);
                width[e] = passable[e] ? width_of(e) : -INF;
                upper[e] = passable[e] ? top[e] : -INF;
                if (passable[e]) reached[p.target[e]] = 1, infinite += visits[e] == 0 && !p.known[e];
            }
    }

    void roll_period() {
        int64_t least = -1;
        for (int64_t e = 0; e < p.arcs; ++e)
            if (active[e] && !p.known[e] && (least < 0 || visits[e] < least)) least = visits[e];
        if (least < 0) return;
        period = least + 1, low = 0, started = active;
        for (int64_t e = 0; e < p.arcs; ++e) low += active[e] && !p.known[e] && visits[e] <= least;
    }

    // While an arc is unvisited the walk counts infinities; on these small graphs the plain values do the same.
    int64_t max_diameter(double epsilon, int64_t limit) {
        backward(p, width, spread);
        while (t < limit) {
            episode(width, spread);
            if (used + guard >= slack) {
                eliminate();
                set_allowance(slack - used - guard);
            }
            if (low == 0) roll_period();
            backward(p, width, spread);
            if (2 * spread[0] <= epsilon || crowded == 0) break;
        }
        return t;
    }

    int64_t bpi_ucrl(double epsilon, int64_t limit) {
        backward(p, upper, best);
        while (t < limit) {
            episode(upper, best);
            if (low == 0) roll_period();
            backward(p, upper, best);
            if (best[0] - floor_seen - lifted > epsilon + guard) continue;
            backward(p, lower, floor);
            start_over();
            floor_seen = floor[0];
            if (best[0] - floor[0] <= epsilon) break;
            set_allowance(best[0] - floor[0] - epsilon - guard);
        }
        return t;
    }

    // Values over all policies with the statistics so far: which active arcs are below the lower value of their state.
    bool mark(vector<char>& marked) {
        backward(p, top, reach);  // a row that this learner has no other use for
        backward(p, lower, floor);
        bool any = false;
        for (int64_t i = 0; i < p.nodes; ++i)
            for (uint32_t e = p.first[i]; e < p.first[i + 1]; ++e)
                any |= marked[e] = active[e] && top[e] + reach[p.target[e]] < floor[i];
        return any;
    }

    int64_t bpi_experiment(double epsilon, int64_t limit, int64_t every) {
        vector<char> marked(p.arcs, 0);
        while (t < limit) {
            const bool due = (t + 1) % every == 0;
            const bool any = due && mark(marked);
            if (unseen > 0) backward(p, width, spread);
            if (unseen > 0) episode(width, spread);
            else episode(upper, best);
            if (any && unseen_active == 0) {
                for (int64_t i = 0; i < p.nodes; ++i)
                    for (uint32_t e = p.first[i]; e < p.first[i + 1]; ++e)
                        if (marked[e] && degree[i] > 1) active[e] = 0, --degree[i];  // the last action stays
                refresh();
            }
            backward(p, upper, best);
            if (!due) continue;
            backward(p, lower, floor);
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
    if (argc != 6 && argc != 8) return 2;
    FILE* f = std::fopen(argv[1], "rb");
    if (!f) return 2;
    const bool bpi = !std::strcmp(argv[2], "bpi");
    const double epsilon = std::atof(argv[3]);
    const int64_t limit = std::atoll(argv[4]), repeats = std::atoll(argv[5]);
    Problem p;
    vector<int64_t> head;
    vector<double> real;
    read(f, head, 8), read(f, real, 3);
    p.nodes = head[0], p.arcs = head[1], p.horizon = head[2];
    p.authors = head[5], p.least_played = head[6], p.periods = head[7];
    p.factor = real[0], p.delta = real[1], p.cap = real[2];
    read(f, p.first, p.nodes + 1), read(f, p.target, p.arcs);
    read(f, p.mean, p.arcs), read(f, p.noise, head[3]), read(f, p.table, head[4]);
    read(f, p.sigma, p.arcs), read(f, p.gain, p.arcs), read(f, p.known, p.arcs);
    std::fclose(f);
    if (argc == 8) {  // short runs: episodes between eliminations, and noises that a run may use
        const int64_t every = std::atoll(argv[6]), stride = std::atoll(argv[7]), runs = head[3] / stride;
        double least = INF, tau = 0;
        for (int64_t r = 0; r < repeats; ++r) {
            int64_t total = 0;
            const std::clock_t begun = std::clock();
            for (int64_t i = 0; i < runs; ++i) total += Run(p, i * stride).bpi_experiment(epsilon, limit, every);
            least = std::min(least, 1e9 * double(std::clock() - begun) / CLOCKS_PER_SEC / double(total));
            tau = double(total) / double(runs);
        }
        std::printf("%.6f %.3f\n", tau, least);
        return 0;
    }
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
