"""Who is asking, and what they may: authentication, authorization, nodes' rights, impersonation, reviews."""
