import BusJSON
