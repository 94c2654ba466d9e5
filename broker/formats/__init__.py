"""Pure values and text: IBM MQ headers, selectors, filters, patches, wildcards."""
