// Carries the precompiled header that every library reuses.
