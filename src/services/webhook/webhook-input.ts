import { z } from 'zod'
import { LABELS_MAX, NAME_LENGTH_MAX, REASON_LENGTH_MAX, WEBHOOK_EVENT_TYPES_MAX } from '../../domain/limits.ts'
import { isPlainText, PLAIN_TEXT } from '../../domain/plain-text.ts'
import { isStorableText, STORABLE_TEXT, UNSTORABLE } from '../../domain/storable-text.ts'
import { endpointUrlFault } from '../../domain/webhook/endpoint-url.ts'
import { isEventPattern } from '../../domain/webhook/event-pattern.ts'
import type { WebhookSettings } from '../../store/sql/webhook/webhooks.sql.ts'
import { parseInput } from '../input/parse-input.ts'

/** Settings of a webhook as given by a client. */
export interface WebhookSettingsInput {
  url: string
  eventTypes: string[]
  description?: string | null
  chainId?: string | null
  labels?: { key: string; value: string }[] | null
}

const label = z.string().max(NAME_LENGTH_MAX).refine(isStorableText, UNSTORABLE).refine(isPlainText, PLAIN_TEXT)

const schema = z.strictObject({
  url: z.string().superRefine((text, context) => {
    const fault = endpointUrlFault(text)
    if (fault !== undefined) context.addIssue(fault)
  }),
  eventTypes: z
    .array(z.string().refine(isEventPattern, 'must be the name of an event, or begin like one and end in *'))
    .min(1)
    .max(WEBHOOK_EVENT_TYPES_MAX)
    .transform((types) => [...new Set(types)]),
  description: z.string().max(REASON_LENGTH_MAX).refine(isStorableText, STORABLE_TEXT).nullish(),
  chainId: z.uuid().nullish(),
  labels: z
    .array(z.strictObject({ key: label.min(1), value: label }))
    .max(LABELS_MAX)
    .refine((labels) => new Set(labels.map(({ key }) => key)).size === labels.length, 'must name each key once')
    .nullish(),
})

/** @throws RepriseError VALIDATION_FAILED with all faults */
export function parseWebhookSettings(input: WebhookSettingsInput): WebhookSettings {
  const { url, eventTypes, description, chainId, labels } = parseInput(schema, input)
  return {
    url,
    eventTypes,
    description: description ?? '',
    chainId: chainId ?? null,
    labels: Object.fromEntries((labels ?? []).map(({ key, value }) => [key, value])),
  }
}
