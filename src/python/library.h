// A library of operators, and calls of them.
#pragma once

#include <mutex>

#include "language/library.h"
#include "python/python.h"
#include "symbolic/session.h"

namespace heddle::python {

// What a call of an operator is given, by the places of its inputs, before it is a tensor or an array.
struct CallArguments {
    struct Input {
        bool given = false, list = false;
        std::vector<nb::handle> objects;
    };
    std::vector<Input> inputs;
    std::map<std::string, StaticValue> parameters;
    std::vector<nb::object> made;  // of Python's numbers, which take the dtype of what stands beside them
};
// Positions are inputs; a name is an input or a parameter. A list stands for a variadic input. Codes python.argument,
// python.parameter.
CallArguments arguments_of(const Template& metakernel, const nb::tuple& inputs, const nb::dict& named);

class Operators {
public:
    // The shipped library's folder, files and folders of the user's, such with names,
    // and texts by the names of their libraries.
    Operators(const std::string& folder, const std::vector<std::string>& paths,
              const std::map<std::string, std::string>& named, const std::map<std::string, std::string>& texts,
              int threads);

    // An array, or a tuple where the operator has several results. `progress` as of Session::run.
    nb::object call(const std::string& name, const nb::tuple& inputs, const nb::dict& named, nb::object progress);
    void cancel() { calls_.cancel(); }

    std::vector<std::shared_ptr<const SourceText>> files;  // the user's, with what they import
    std::shared_ptr<Library> library;
    std::string digest;  // of all that operators follow from

private:
    inference::ProgramCache programs_;
    Calls calls_;
};

}  // namespace heddle::python
