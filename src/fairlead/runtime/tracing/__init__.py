"""Traces (OpenTelemetry): spans of requests, turns and writes, linked over what comes later; sent as OTLP/HTTP JSON."""
