"""Where the program seeds its generators: each place once, with a count, for data sets may seed at each sample."""
from . import record, thin

PLACES_MAX = 50


class Place(object):
    def __init__(self, call, value, where):
        self.fields = {"call": call, "value": value, "where": where}
        self.calls, self.told = 1, 0
        self.last, self.varies = value, False

    def again(self, value):
        """Whether that is worth telling."""
        self.calls += 1
        self.last = value
        varied, self.varies = self.varies, self.varies or value != self.fields["value"]
        return self.varies != varied or thin.power(self.calls)

    def tell(self):
        self.told = self.calls
        more = {} if self.calls == 1 else {"calls": self.calls, "varies": self.varies, "last": self.last}
        record.write("seed", **dict(self.fields, **more))


class SeedPlaces(object):
    def __init__(self):
        self.places = {}

    def called(self, call, value, where):
        place = self.places.get((call, where))
        if place is not None:
            tells = place.again(value)
        else:
            tells = len(self.places) < PLACES_MAX
            if tells:
                place = self.places[call, where] = Place(call, value, where)
        if tells:
            place.tell()

    def end(self):
        for place in self.places.values():
            if place.calls != place.told:
                place.tell()
