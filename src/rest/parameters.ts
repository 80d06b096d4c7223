import { z } from '@hono/zod-openapi'
import { FILTER_LIST_MAX } from '../domain/limits.ts'
import { isStorableMoment, STORABLE_MOMENT } from '../domain/storable-text.ts'
import type { LabelFilterInput } from '../services/input/label-filter.ts'

export const SessionIdParameter = idParameter('Id of the session.')
export const KernelIdParameter = idParameter('Id of the kernel.')
export const ChainIdParameter = idParameter('Id of the chain.')
export const AgentIdParameter = idParameter('Id of the agent.')
export const AdviceIdParameter = idParameter('Id of the advice.')
export const BulkActionIdParameter = idParameter('Id of the action.')
export const DeploymentIdParameter = idParameter('Id of the deployment.')
export const GroupIdParameter = idParameter('Id of the group.')
export const TokenIdParameter = idParameter('Id of the token.')
export const WebhookIdParameter = idParameter('Id of the webhook.')
export const ScheduleIdParameter = idParameter('Id of the schedule.')

function idParameter(description: string) {
  return z.strictObject({
    id: z
      .uuid()
      .toLowerCase()
      .openapi({ param: { name: 'id', in: 'path' }, description, format: 'uuid' }),
  })
}

/** Parameter with several enum values, in either case, separated by commas or given by repeating the parameter. */
export function several<const Value extends string>(values: readonly Value[], description: string) {
  return z
    .union([z.string(), z.array(z.string())])
    .transform((given) => separated(given).map((word) => ofEitherCase(values, word)))
    .pipe(z.array(z.enum(values)))
    .optional()
    .openapi({
      type: 'array',
      items: { type: 'string', enum: [...values] },
      description,
      param: { style: 'form', explode: false },
    })
}

function separated(given: string | string[]): string[] {
  return [given].flat().flatMap((text) => text.split(','))
}

function ofEitherCase(values: readonly string[], word: string): string {
  return values.find((value) => value.toUpperCase() === word.toUpperCase()) ?? word
}

/** Parameter with several ids, separated by commas or given by repeating the parameter. */
export function ids(description: string) {
  return z
    .union([z.string(), z.array(z.string())])
    .transform(separated)
    .pipe(z.array(z.uuid().toLowerCase()).max(FILTER_LIST_MAX))
    .optional()
    .openapi({
      type: 'array',
      items: { type: 'string', format: 'uuid' },
      description,
      param: { style: 'form', explode: false },
    })
}

/**
 * Parameter with several whole numbers of a column of the database, separated by commas or given by repeating the
 * parameter.
 */
export function integers(description: string) {
  return z
    .union([z.string(), z.array(z.string())])
    .transform(separated)
    .pipe(
      z
        .array(
          z
            .string()
            .regex(/^-?\d{1,9}$/, 'must be a whole number')
            .transform(Number),
        )
        .max(FILTER_LIST_MAX),
    )
    .optional()
    .openapi({
      type: 'array',
      items: { type: 'integer' },
      description,
      param: { style: 'form', explode: false },
    })
}

/** Parameter with a range of whole numbers, ends included: `3`, `1..3`, `1..` or `..3`. */
export function range(description: string) {
  return z
    .string()
    .regex(/^(\d{1,9}|\d{1,9}\.\.\d{0,9}|\.\.\d{1,9})$/, 'must be like 3, 1..3, 1.. or ..3')
    .transform((text) => {
      const [gte, lte = gte] = text.split('..').map((end) => (end === '' ? null : Number(end)))
      return { gte: gte!, lte: lte! }
    })
    .optional()
    .openapi({ type: 'string', example: '1..3', description: `${description} \`3\`, \`1..3\`, \`1..\` or \`..3\`.` })
}

function toLabel(given: string): { key: string; value: string } | null {
  const [, key, value] = /^([^=]+)=(.*)$/s.exec(given) ?? []
  return key === undefined ? null : { key, value: value! }
}

/** Parameter with conditions on labels, which may be repeated: `key=value`, `key` or `!key`. */
export function labelFilters() {
  return z
    .union([z.string(), z.array(z.string())])
    .transform((given) => [given].flat())
    .pipe(z.array(z.string().regex(/^!?[^=!]/, 'must be key=value, key or !key')).max(FILTER_LIST_MAX))
    .optional()
    .openapi({
      type: 'array',
      items: { type: 'string' },
      description:
        'With this label, `key=value`; with this label, whatever its value, `key`; or without it, `!key`. May be repeated: all must match.',
      param: { style: 'form', explode: true },
    })
}

export function toLabelFilters(given: readonly string[] | undefined): LabelFilterInput[] {
  return (given ?? []).map((text) => {
    const label = toLabel(text)
    if (label) return { key: label.key, equals: label.value }
    return text.startsWith('!') ? { key: text.slice(1), exists: false } : { key: text }
  })
}

/** Parameter that is `true` or `false`. */
export function flag(description: string) {
  return z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .optional()
    .openapi({ type: 'boolean', description })
}

export function moment(description: string) {
  return z.iso
    .datetime({ offset: true })
    .transform((text) => new Date(text))
    .refine(isStorableMoment, STORABLE_MOMENT)
    .optional()
    .openapi({ type: 'string', format: 'date-time', description })
}
