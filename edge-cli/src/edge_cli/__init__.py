"""The edge command: layers installed behind contract gates, failures routed to their owner."""
