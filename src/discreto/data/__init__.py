"""Where rows come from: frames and files, engines that fold them, public data sets."""
