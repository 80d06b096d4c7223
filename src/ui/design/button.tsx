import type { ComponentProps } from 'react'
import './controls.css'

type Kind = 'plain' | 'primary' | 'danger' | 'quiet'

/** `icon`: it shows nothing but an icon, and has an `aria-label`. */
export function Button({
  kind = 'plain',
  icon = false,
  className,
  ...rest
}: ComponentProps<'button'> & { kind?: Kind; icon?: boolean }) {
  const classes = ['button', kind !== 'plain' && kind, icon && 'icon', className].filter(Boolean).join(' ')
  // oxlint-disable-next-line react/button-has-type -- it comes with the rest where it is another one
  return <button type="button" {...rest} className={classes} />
}

/** A key of the keyboard, or several: `g c`. */
export function Keys({ keys }: { keys: string }) {
  return (
    <span aria-hidden="true">
      {keys.split(' ').map((key) => (
        <kbd key={key} className="key">
          {key}
        </kbd>
      ))}
    </span>
  )
}
