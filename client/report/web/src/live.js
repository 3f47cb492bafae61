// Live page.
