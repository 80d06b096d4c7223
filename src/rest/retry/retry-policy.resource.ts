import { z } from '@hono/zod-openapi'
import { exitCodes, retryPolicy, rule, slotGrowth, type RetryPolicy } from '../../domain/retry/policy/policy.ts'
import { renamed, snakeCase, type SnakeKeys } from '../resources/snake-case.ts'

type ShownPolicy = SnakeKeys<RetryPolicy>
type ShownRule = ShownPolicy['rules'][number]

/** What the document says of fields that their names do not. */
const RULE_DESCRIPTIONS: Partial<Record<keyof ShownRule, string>> = {
  delay: "Base delay in seconds, in place of the formula's.",
}
const POLICY_DESCRIPTIONS: Partial<Record<keyof ShownPolicy, string>> = {
  max_retries: 'Number of retries; total attempts are one more. 0 means none.',
  retry_delay: 'Seconds.',
  max_retry_delay: 'Seconds; null is 86400, which nothing exceeds.',
  max_elapsed: 'Seconds from the first attempt on; null is no bound.',
}

/** Values that are shown in another form than they may be given. */
const SHOWN_AS = new Map<unknown, z.ZodType>([
  [
    exitCodes,
    z
      .union([z.int(), z.string()])
      .openapi({ description: 'An exit code, or a range of them with both ends: `"64-78"`.', example: '64-78' }),
  ],
  [slotGrowth.shape.max, z.string().optional()],
  [
    rule.shape.match.shape.reason,
    z.string().optional().openapi({ description: 'A pattern with `*` and `?` for the whole reason.' }),
  ],
])
SHOWN_AS.set(
  retryPolicy.shape.rules.element,
  shownObject(rule, RULE_DESCRIPTIONS).openapi('RetryRule', {
    description: 'The first rule whose `match` holds decides.',
  }),
)

export const RetryPolicyResource = shownObject(retryPolicy, POLICY_DESCRIPTIONS).openapi('RetryPolicy', {
  description: 'How a session is retried, as resolved when it was created.',
}) as unknown as z.ZodType<ShownPolicy>

export function toRetryPolicy(policy: RetryPolicy): ShownPolicy {
  return renamed(policy, snakeCase) as ShownPolicy
}

/** The form in which answers have a value, with the names of REST and without the bounds of inputs. */
function shown(schema: z.ZodType): z.ZodType {
  const other = SHOWN_AS.get(schema)
  if (other) return other
  if (schema instanceof z.ZodOptional) return shown(schema.unwrap() as z.ZodType).optional()
  if (schema instanceof z.ZodNullable) return shown(schema.unwrap() as z.ZodType).nullable()
  if (schema instanceof z.ZodPipe) return shown(schema.in as z.ZodType)
  if (schema instanceof z.ZodArray) return z.array(shown(schema.element as z.ZodType))
  if (schema instanceof z.ZodObject) return shownObject(schema, {})
  if (schema instanceof z.ZodEnum) return z.enum(schema.options as string[])
  if (schema instanceof z.ZodNumber) return schema.format === 'safeint' ? z.int() : z.number()
  if (schema instanceof z.ZodString) return z.string()
  if (schema instanceof z.ZodBoolean) return z.boolean()
  throw new Error(`REST does not show ${schema.type}`)
}

function shownObject(schema: z.ZodObject, descriptions: Readonly<Record<string, string>>) {
  const fields = Object.entries(schema.shape).map(([name, field]) => {
    const snake = snakeCase(name)
    const value = shown(field as z.ZodType)
    const description = descriptions[snake]
    return [snake, description === undefined ? value : value.openapi({ description })] as const
  })
  return z.object(Object.fromEntries(fields))
}
