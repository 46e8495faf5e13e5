import os
print "x"
<<<<<<< a
x = os.listdir(
