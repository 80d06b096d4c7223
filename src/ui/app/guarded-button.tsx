import { type ComponentProps, useId } from 'react'
import { Button } from '../design/controls.tsx'

/** A button that, where it may not be used, shows the reason. */
export function GuardedButton({
  refusal,
  onClick,
  children,
  ...rest
}: ComponentProps<typeof Button> & { refusal: string | null }) {
  const id = useId()
  if (refusal === null)
    return (
      <Button {...rest} onClick={onClick}>
        {children}
      </Button>
    )
  return (
    <Button {...rest} aria-disabled="true" aria-describedby={id} title={refusal}>
      {children}
      <span id={id} hidden>
        {refusal}
      </span>
    </Button>
  )
}
