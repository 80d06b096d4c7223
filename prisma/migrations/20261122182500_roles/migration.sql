-- Tokens of Prometheus: /metrics and service discovery, and nothing else. Weaker than all that read the API.
ALTER TYPE "token_role" ADD VALUE 'METRICS';

-- Values of environment variables in what resubmissions wrote down.
UPDATE "audit_log" SET "details" = jsonb_set("details", '{overrides,environ}',
    (SELECT coalesce(jsonb_agg(jsonb_build_object('name', variable -> 'name', 'value', '[redacted]', 'redacted', true)), '[]')
     FROM jsonb_array_elements("details" #> '{overrides,environ}') AS variable))
WHERE "action" = 'session.resubmit' AND jsonb_typeof("details" #> '{overrides,environ}') = 'array';
