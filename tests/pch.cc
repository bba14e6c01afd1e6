// There to own the precompiled header.
