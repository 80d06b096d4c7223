import { z } from '@hono/zod-openapi'
import { isStorableMoment, STORABLE_MOMENT } from '../../domain/storable-moment.ts'

export const SessionIdParameter = idParameter('Of a session.')
export const KernelIdParameter = idParameter('Of a kernel.')
export const DeploymentIdParameter = idParameter('Of a deployment.')

function idParameter(description: string) {
  return z.strictObject({
    id: z
      .uuid()
      .toLowerCase()
      .openapi({ param: { name: 'id', in: 'path' }, description, format: 'uuid' }),
  })
}

/** Several values of a closed set, in either case, separated by commas or given by repeating the parameter. */
export function several<const Value extends string>(values: readonly Value[], description: string) {
  return z
    .union([z.string(), z.array(z.string())])
    .transform((given) => [given].flat().flatMap((text) => text.toUpperCase().split(',')))
    .pipe(z.array(z.enum(values)))
    .optional()
    .openapi({
      type: 'array',
      items: { type: 'string', enum: [...values] },
      description,
      param: { style: 'form', explode: false },
    })
}

/** `3`, `1..3`, `1..` or `..3`: whole numbers, ends included. */
export function range(description: string) {
  return z
    .string()
    .regex(/^(\d{1,9}|\d{1,9}\.\.\d{0,9}|\.\.\d{1,9})$/, 'must be like 3, 1..3, 1.. or ..3')
    .transform((text) => {
      const [min, max = min] = text.split('..').map((end) => (end === '' ? null : Number(end)))
      return { min: min!, max: max! }
    })
    .optional()
    .openapi({ type: 'string', example: '1..3', description: `${description} \`3\`, \`1..3\`, \`1..\` or \`..3\`.` })
}

/** `true` or `false`. */
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
