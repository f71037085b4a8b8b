"""Apache Kafka and Ottla compared: what is measured, with what, and how the table is made."""
