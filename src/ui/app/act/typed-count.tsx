import { Field } from '../../design/field.tsx'

/** Above it the number of what something is done to is to be typed. */
const TYPED_ABOVE = 100

interface Props {
  count: number
  typed: string
  onTyped: (text: string) => void
}

export function isSureOf(count: number, typed: string): boolean {
  return count <= TYPED_ABOVE || Number(typed.replaceAll(/[\s,]/g, '')) === count
}

/** Nothing for few. */
export function TypedCount({ count, typed, onTyped }: Props) {
  if (count <= TYPED_ABOVE) return null
  return (
    <Field label={`Type ${count} to go on`} wide>
      {(control) => (
        <input
          {...control}
          inputMode="numeric"
          autoComplete="off"
          value={typed}
          onChange={(event) => onTyped(event.target.value)}
        />
      )}
    </Field>
  )
}
