"""Bundles: everything that an installation needs in one archive, for boxes without a network."""
