// How arguments come from Python. Arrays must have the type and the number of dimensions that the kernel expects, be
// contiguous, and writable where it writes: anything else is a TypeError, and nothing is ever copied or converted,
// because a copy would lose what the kernel writes.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "arrays.hpp"
#include "cycle.hpp"
#include "encoded.hpp"
#include "grouping.hpp"
#include "secrets.hpp"

namespace nb = nanobind;

namespace shoal {

// An Index as Python passes it.
struct Whole {
    Index value;

    operator Index() const { return value; }
};

} // namespace shoal

namespace nanobind::detail {

template <class T> constexpr auto numpy_name() {
    if constexpr (std::is_same_v<T, double>)
        return const_name("numpy.typing.NDArray[numpy.float64]");
    else if constexpr (std::is_same_v<T, bool>)
        return const_name("numpy.typing.NDArray[numpy.bool_]");
    else if constexpr (std::is_same_v<T, std::int32_t>)
        return const_name("numpy.typing.NDArray[numpy.int32]");
    else if constexpr (std::is_same_v<T, std::uint64_t>)
        return const_name("numpy.typing.NDArray[numpy.uint64]");
    else {
        static_assert(std::is_same_v<T, std::int64_t>, "name the type of the array here");
        return const_name("numpy.typing.NDArray[numpy.int64]");
    }
}

template <class View, class T, int dimensions> struct array_caster {
    using Array = nb::ndarray<T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;

    NB_TYPE_CASTER(View, numpy_name<std::remove_const_t<T>>())

    bool from_python(handle source, uint32_t flags, cleanup_list *cleanup) noexcept {
        if (!owner.from_python(source, flags & ~static_cast<uint32_t>(cast_flags::convert), cleanup))
            return false;
        const Array &array = owner.value;
        if constexpr (dimensions == 1)
            value = {array.data(), static_cast<shoal::Index>(array.shape(0))};
        else
            value = {array.data(), static_cast<shoal::Index>(array.shape(0)), static_cast<shoal::Index>(array.shape(1))};
        return true;
    }

    make_caster<Array> owner;
};

template <class T> struct type_caster<shoal::Span<T>> : array_caster<shoal::Span<T>, T, 1> {};
template <class T> struct type_caster<shoal::Matrix<T>> : array_caster<shoal::Matrix<T>, T, 2> {};

// An array whose size only the kernel knows: Python takes it over.
template <class T> struct type_caster<shoal::Buffer<T>> {
    using Array = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

    static constexpr auto Name = numpy_name<T>();

    static handle from_cpp(shoal::Buffer<T> &&buffer, rv_policy, cleanup_list *cleanup) noexcept {
        auto *kept = new shoal::Buffer<T>(std::move(buffer));
        nb::capsule owner(kept, [](void *it) noexcept { delete static_cast<shoal::Buffer<T> *>(it); });
        Array array(kept->data(), {static_cast<std::size_t>(kept->size())}, owner);
        return make_caster<Array>::from_cpp(array, rv_policy::reference, cleanup);
    }
};

template <> struct type_caster<shoal::Watch> {
    NB_TYPE_CASTER(shoal::Watch, numpy_name<shoal::Index>())

    bool from_python(handle source, uint32_t flags, cleanup_list *cleanup) noexcept {
        if (!array.from_python(source, flags, cleanup) || array.value.size < 2)
            return false;
        value = {array.value.data};
        return true;
    }

    type_caster<shoal::Span<shoal::Index>> array;
};

// A whole number: an int or an integer of numpy, no bool and nothing that would be rounded.
template <> struct type_caster<shoal::Whole> {
    NB_TYPE_CASTER(shoal::Whole, const_name("int"))

    bool from_python(handle source, uint32_t, cleanup_list *) noexcept {
        if (PyBool_Check(source.ptr()) || !PyIndex_Check(source.ptr()))
            return false;
        PyObject *number = PyNumber_Index(source.ptr());
        long long found = number == nullptr ? -1 : PyLong_AsLongLong(number);
        Py_XDECREF(number);
        if (found == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            return false;
        }
        value = {found};
        return true;
    }
};

// A struct whose members come from a NamedTuple of Python, in the same order.
template <class Struct, class... Members> struct tuple_caster {
    NB_TYPE_CASTER(Struct, const_name("tuple[") + concat(make_caster<Members>::Name...) + const_name("]"))

    bool from_python(handle source, uint32_t flags, cleanup_list *cleanup) noexcept {
        return PyTuple_Check(source.ptr()) && PyTuple_GET_SIZE(source.ptr()) == sizeof...(Members) &&
               load(source, flags, cleanup, std::index_sequence_for<Members...>());
    }

    template <std::size_t... at>
    bool load(handle source, uint32_t flags, cleanup_list *cleanup, std::index_sequence<at...>) noexcept {
        if (!(std::get<at>(members).from_python(PyTuple_GET_ITEM(source.ptr(), at), flags, cleanup) && ...))
            return false;
        value = Struct{std::get<at>(members).value...};
        return true;
    }

    std::tuple<make_caster<Members>...> members;
};

template <>
struct type_caster<shoal::Tour> : tuple_caster<shoal::Tour, shoal::Span<shoal::Index>, shoal::Span<shoal::Index>,
                                               shoal::Matrix<shoal::Index>, shoal::Span<shoal::Index>> {};

template <>
struct type_caster<shoal::Queue> : tuple_caster<shoal::Queue, shoal::Span<shoal::Index>, shoal::Span<shoal::Index>,
                                                shoal::Span<shoal::Index>> {};

template <>
struct type_caster<shoal::Grouping>
    : tuple_caster<shoal::Grouping, shoal::Table, shoal::Span<shoal::Index>, shoal::Span<shoal::Index>,
                   shoal::Span<shoal::Index>, shoal::Matrix<shoal::Index>, shoal::Matrix<double>,
                   shoal::Span<shoal::Index>> {};

template <>
struct type_caster<shoal::Journal> : tuple_caster<shoal::Journal, shoal::Span<shoal::Index>, shoal::Span<shoal::Index>,
                                                  shoal::Span<shoal::Index>> {};

template <>
struct type_caster<shoal::EncodedMatrix> : tuple_caster<shoal::EncodedMatrix, shoal::Table, shoal::Integers,
                                                        shoal::Floats, shoal::Floats, shoal::Integers, shoal::Floats> {};

template <>
struct type_caster<shoal::Attributes>
    : tuple_caster<shoal::Attributes, shoal::Matrix<const shoal::Index>, shoal::Integers, shoal::Integers,
                   shoal::Integers, shoal::Span<const bool>, shoal::Integers, shoal::Whole> {};

template <>
struct type_caster<shoal::Parts> : tuple_caster<shoal::Parts, shoal::Integers, shoal::Integers, shoal::Integers,
                                                shoal::Span<shoal::Index>, shoal::Span<shoal::Index>> {};

template <>
struct type_caster<shoal::LDiversity> : tuple_caster<shoal::LDiversity, double, shoal::Whole, double> {};

} // namespace nanobind::detail
