"""What all decoders share: objectives, options, posteriors of spans, trees."""
