import type { ReactNode } from 'react'

interface IconProps {
  /** Where it stands alone; without it, it is decoration. */
  label?: string
  className?: string
}

function Icon({ label, className, children }: IconProps & { children: ReactNode }) {
  const named = label === undefined ? { 'aria-hidden': true as const } : { role: 'img', 'aria-label': label }
  return (
    <svg
      {...named}
      className={className}
      width="16"
      height="16"
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      {children}
    </svg>
  )
}

export function ChainsIcon(props: IconProps) {
  return (
    <Icon {...props}>
      <path d="M2 4h5M9 4h2.5M2 8h2.5M6.5 8H14M2 12h7.5M11.5 12H14" />
    </Icon>
  )
}

export function PolicyIcon(props: IconProps) {
  return (
    <Icon {...props}>
      <path d="M2.5 13.5v-2M6.2 13.5V9M9.8 13.5v-7M13.5 13.5v-11" />
    </Icon>
  )
}

export function SearchIcon(props: IconProps) {
  return (
    <Icon {...props}>
      <circle cx="7" cy="7" r="4.2" />
      <path d="m10.2 10.2 3.3 3.3" />
    </Icon>
  )
}

export function ChevronIcon(props: IconProps) {
  return (
    <Icon {...props}>
      <path d="m4.5 6.5 3.5 3.5 3.5-3.5" />
    </Icon>
  )
}

export function CrossIcon(props: IconProps) {
  return (
    <Icon {...props}>
      <path d="m4.5 4.5 7 7M11.5 4.5l-7 7" />
    </Icon>
  )
}

export function ArrowUpIcon(props: IconProps) {
  return (
    <Icon {...props}>
      <path d="M8 13V3.5M4 7l4-4 4 4" />
    </Icon>
  )
}

export function MenuIcon(props: IconProps) {
  return (
    <Icon {...props}>
      <path d="M2.5 4.5h11M2.5 8h11M2.5 11.5h11" />
    </Icon>
  )
}

export function RetryIcon(props: IconProps) {
  return (
    <Icon {...props}>
      <path d="M13 8a5 5 0 1 1-1.6-3.7M13 2.5v2.6h-2.6" />
    </Icon>
  )
}

export function SucceededIcon(props: IconProps) {
  return (
    <Icon {...props}>
      <circle cx="8" cy="8" r="6" />
      <path d="m5.4 8.2 1.8 1.8 3.4-3.8" />
    </Icon>
  )
}

export function FailedIcon(props: IconProps) {
  return (
    <Icon {...props}>
      <circle cx="8" cy="8" r="6" />
      <path d="m5.9 5.9 4.2 4.2M10.1 5.9l-4.2 4.2" />
    </Icon>
  )
}

export function RunningIcon(props: IconProps) {
  return (
    <Icon {...props}>
      <circle cx="8" cy="8" r="6" />
      <path d="M6.8 5.7v4.6L10.4 8z" fill="currentColor" />
    </Icon>
  )
}

export function WaitingIcon(props: IconProps) {
  return (
    <Icon {...props}>
      <circle cx="8" cy="8" r="6" strokeDasharray="2.6 2.11" />
      <path d="M8 5v3l1.9 1.3" />
    </Icon>
  )
}

export function HeldIcon(props: IconProps) {
  return (
    <Icon {...props}>
      <circle cx="8" cy="8" r="6" />
      <path d="M6.5 5.9v4.2M9.5 5.9v4.2" />
    </Icon>
  )
}

export function CancelledIcon(props: IconProps) {
  return (
    <Icon {...props}>
      <circle cx="8" cy="8" r="6" />
      <path d="M6.3 6.3h3.4v3.4H6.3z" fill="currentColor" />
    </Icon>
  )
}
