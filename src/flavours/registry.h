// Kernels by name, and the words of types: what rows of `kernels` refer to. A program may add its own of both.
//
// A kernel is a C++ function whose parameters *are* its flavours: `const Value&` is transparent, `const Opened&`
// concrete; a last `const std::vector<...>&` of either takes the remaining arguments; the result is one of them, or a
// tuple.
//
//     Opened share(Context& context, const Value& x);                        // [transparent -> concrete]
//     Value reveal(Context& context, const Opened& x);                       // [concrete -> transparent]
//     Result<std::vector<TensorData>> keys(const Call& call);                // [runtime]
//
// The first two run at symbolic execution too, and what they apply is then recorded. A row that says otherwise than its
// kernel's parameters fails when it is loaded (kernel_matrix.h).
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "flavours/value.h"
#include "language/template.h"
#include "symbolic/value.h"

namespace heddle::flavours {

class Context;  // session.h
using Parameters = std::map<std::string, StaticValue>;

// What a [runtime] kernel computes from: the tensors of its arguments, those of composed ones in the order of their
// parts.
struct Call {
    const Placement& placement;
    const std::vector<TensorData>& inputs;
    const Parameters& parameters;
    const std::vector<TensorType>& outputs;   // what the template says the results are
    const std::function<uint64_t()>& random;  // from the session's source
};
using Compute = std::function<Result<std::vector<TensorData>>(const Call&)>;

struct Kernel {
    std::string name;
    std::vector<Flavour> arguments, results;  // not of runtime kernels
    bool variadic = false;                    // the last argument stands for any number
    std::function<std::vector<Value>(Context&, std::span<const Value>)> run;
    Compute compute;  // set: [runtime]

    bool runtime() const { return static_cast<bool>(compute); }
};

namespace detail {

template <typename T>
struct Side {
    static_assert(std::is_same_v<T, Value> || std::is_same_v<T, Opened>, "a kernel takes and gives Value and Opened");
    static constexpr bool variadic = false;
    static constexpr Flavour flavour = std::is_same_v<T, Opened> ? Flavour::concrete : Flavour::transparent;
    static T take(std::span<const Value>& rest) {
        T taken(rest.front());
        rest = rest.subspan(1);
        return taken;
    }
};
template <typename T>
struct Side<std::vector<T>> {
    static constexpr bool variadic = true;
    static constexpr Flavour flavour = Side<T>::flavour;
    static std::vector<T> take(std::span<const Value>& rest) {
        std::vector<T> taken(rest.begin(), rest.end());
        rest = {};
        return taken;
    }
};

inline Value value_of(const Value& value) { return value; }
inline Value value_of(const Opened& value) { return value.value(); }

template <typename T>
struct Results : Results<std::tuple<T>> {};
template <typename... T>
struct Results<std::tuple<T...>> {
    static std::vector<Flavour> flavours() { return {Side<T>::flavour...}; }
    static std::vector<Value> values(const std::tuple<T...>& results) {
        return std::apply([](const auto&... result) { return std::vector<Value>{value_of(result)...}; }, results);
    }
};

}  // namespace detail

class Registry {
public:
    Registry();  // knows the kernels of this room (replicated.cpp)

    Vocabulary vocabulary;

    // Code flavours.kernel_name: the name is taken, or is `body`, which stands for the operator's own body.
    template <typename R, typename... P>
    Result<void> add(std::string name, R (*function)(Context&, P...)) {
        Kernel kernel{.name = std::move(name),
                      .arguments = {detail::Side<std::remove_cvref_t<P>>::flavour...},
                      .results = detail::Results<R>::flavours(),
                      .variadic = (false || ... || detail::Side<std::remove_cvref_t<P>>::variadic)};
        kernel.run = [function](Context& context, [[maybe_unused]] std::span<const Value> values) {
            // Braces: arguments are taken from left to right.
            std::tuple<std::remove_cvref_t<P>...> taken{detail::Side<std::remove_cvref_t<P>>::take(values)...};
            auto call = [&](const auto&... arguments) { return function(context, arguments...); };
            return detail::Results<R>::values(std::apply(call, taken));
        };
        return add(std::move(kernel));
    }
    Result<void> add(std::string name, Result<std::vector<TensorData>> (*compute)(const Call&));

    const Kernel* find(const std::string& name) const;

private:
    Result<void> add(Kernel kernel);
    std::map<std::string, Kernel> kernels_;
};

// replicated.cpp
void add_replicated_kernels(Registry& registry);

}  // namespace heddle::flavours
