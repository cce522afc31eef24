// Circulant: the rounds with plus for partners. ceil(log2 n) steps and least bytes on any n.
#pragma once

#include <functional>

#include "collectives/algo/rounds.h"

namespace gyre::algo {
namespace circulant {

// The partners of place `me` on a circle of places; member(i) is the rank at place i, any i.
using Member = std::function<int(int)>;
using Partner = std::function<int(int)>;
struct Circle {
  Rounds rounds;
  Partner below, above;
  Circle(int places, int me, Member member)
      : rounds(places),
        below([this, me, member](int k) { return member(me - rounds.skip(k)); }),
        above([this, me, member](int k) { return member(me + rounds.skip(k)); }) {}
  Circle(const Circle&) = delete;
  Circle& operator=(const Circle&) = delete;
};

// Reduces and gathers blocks block(x), x places above me: everyone's sources are `parts`,
// everyone's targets `results`.
template <class Block>
void all_reduce(Emitter& e, const Circle& circle, Block block, const Operands& parts,
                const Operands& results) {
  Operands last;
  fold(e, circle.rounds, circle.below, circle.above,
       [&](int x, const Operands& arriving, const Operands& leaving) {
         if (x > 0)
           e.move(block(x), parts + arriving, leaving);
         else
           last = arriving;  // offset 0 is whole here: its move opens the spread
       });
  spread(e, circle.rounds, circle.below, circle.above,
         [&](int x, const Operands& arriving, const Operands& leaving) {
           if (x > 0)
             e.move(block(x), arriving, results + leaving);
           else
             e.move(block(x), parts + last, results + leaving, kFinal);
         });
}

}  // namespace circulant

inline void circulant_all_reduce(const Shape& shape, Program& program) {
  const int n = shape.size(), me = shape.rank;
  Emitter e(shape, program, {.blocks = n});
  const circulant::Circle circle(n, me, [](int place) { return place; });
  e.lane();
  circulant::all_reduce(e, circle, [&](int x) { return me + x; }, {in()}, {out()});
}

inline void circulant_reduce_scatter(const Shape& shape, Program& program) {
  const int n = shape.size(), me = shape.rank;
  Emitter e(shape, program, {.blocks = n});
  const circulant::Circle circle(n, me, [](int place) { return place; });
  e.lane();
  fold(e, circle.rounds, circle.below, circle.above,
       [&](int x, const Operands& arriving, const Operands& leaving) {
         if (x > 0)
           e.move(me + x, Operands{in()} + arriving, leaving);
         else
           e.move(me, Operands{in()} + arriving, {out()}, kFinal);
       });
}

inline void circulant_all_gather(const Shape& shape, Program& program) {
  const int n = shape.size(), me = shape.rank;
  Emitter e(shape, program, {.blocks = n});
  const circulant::Circle circle(n, me, [](int place) { return place; });
  e.lane();
  spread(e, circle.rounds, circle.below, circle.above,
         [&](int x, const Operands& arriving, const Operands& leaving) {
           e.move(me + x, x > 0 ? arriving : Operands{in()}, Operands{out()} + leaving);
         });
}

}  // namespace gyre::algo
