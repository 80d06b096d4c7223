import type { ReactNode } from 'react'

interface IconProps {
  /** The name of an icon without text beside it; undefined for decoration. */
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

export function SessionsIcon(props: IconProps) {
  return (
    <Icon {...props}>
      <path d="m2.5 3 2 1.2-2 1.2zM7 4.2h6.5M2.5 7l2 1.2-2 1.2zM7 8.2h6.5M2.5 11l2 1.2-2 1.2zM7 12.2h6.5" />
    </Icon>
  )
}

export function QueueIcon(props: IconProps) {
  return (
    <Icon {...props}>
      <path d="m2.5 5.5 3 2.5-3 2.5zM8 5v6M10.8 5v6M13.6 5v6" />
    </Icon>
  )
}

export function GroupsIcon(props: IconProps) {
  return (
    <Icon {...props}>
      <path d="M2.5 2.5h3v3h-3zM10.5 2.5h3v3h-3zM2.5 10.5h3v3h-3zM10.5 10.5h3v3h-3zM7.8 4h.4M4 7.8v.4M8 8h.01M12 7.8v.4M7.8 12h.4" />
    </Icon>
  )
}

export function AgentsIcon(props: IconProps) {
  return (
    <Icon {...props}>
      <rect x="2.5" y="2.5" width="11" height="4.5" rx="1.2" />
      <rect x="2.5" y="9" width="11" height="4.5" rx="1.2" />
      <path d="M5 4.75h.01M5 11.25h.01" />
    </Icon>
  )
}

export function DeploymentsIcon(props: IconProps) {
  return (
    <Icon {...props}>
      <path d="m8 2 6 3-6 3-6-3zM2.5 8 8 10.8 13.5 8M2.5 11 8 13.8 13.5 11" />
    </Icon>
  )
}

export function SchedulesIcon(props: IconProps) {
  return (
    <Icon {...props}>
      <rect x="2.5" y="3.5" width="11" height="10" rx="1.5" />
      <path d="M2.5 6.8h11M5.5 2v3M10.5 2v3M8 8.6v1.8l1.3.8" />
    </Icon>
  )
}

export function BulkActionsIcon(props: IconProps) {
  return (
    <Icon {...props}>
      <path d="M2.5 4.5h8M2.5 8h5M2.5 11.5h3.5M13 10.2A2.8 2.8 0 1 1 12 8l1.2 1M13.4 6.6V9h-2.4" />
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

export function ArrowLeftIcon(props: IconProps) {
  return (
    <Icon {...props}>
      <path d="M13 8H3.5M7.5 4l-4 4 4 4" />
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

export function QueuedIcon(props: IconProps) {
  return (
    <Icon {...props}>
      <circle cx="8" cy="8" r="6" />
      <path d="M5.2 8h5.6" />
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

export function OverviewIcon(props: IconProps) {
  return (
    <Icon {...props}>
      <path d="M2.5 2.5h4.4v5.4H2.5zM9.1 2.5h4.4v3H9.1zM9.1 8.1h4.4v5.4H9.1zM2.5 10.5h4.4v3H2.5z" />
    </Icon>
  )
}

export function AlertIcon(props: IconProps) {
  return (
    <Icon {...props}>
      <path d="M8 2.4 14.2 13H1.8zM8 6.4v3.1M8 11.2v.1" />
    </Icon>
  )
}

export function FailuresIcon(props: IconProps) {
  return (
    <Icon {...props}>
      <path d="M2.5 13.5h11M4.5 11V6.5M8 11V3M11.5 11V8" />
    </Icon>
  )
}

export function InsightsIcon(props: IconProps) {
  return (
    <Icon {...props}>
      <path d="M2.5 12.5 6 8l3 2.5 4.5-7M10 3.5h3.5V7" />
    </Icon>
  )
}

export function AdviceIcon(props: IconProps) {
  return (
    <Icon {...props}>
      <path d="M8 2a4.2 4.2 0 0 0-2.4 7.6c.5.4.7.8.7 1.4h3.4c0-.6.2-1 .7-1.4A4.2 4.2 0 0 0 8 2M6.5 13.5h3" />
    </Icon>
  )
}

export function UsageIcon(props: IconProps) {
  return (
    <Icon {...props}>
      <path d="M8 2.5v5.5h5.5" />
      <path d="M13.5 8A5.5 5.5 0 1 1 8 2.5" />
    </Icon>
  )
}

export function SettingsIcon(props: IconProps) {
  return (
    <Icon {...props}>
      <path d="M2.5 4.5h5M10.5 4.5h3M2.5 11.5h3M8.5 11.5h5" />
      <circle cx="9" cy="4.5" r="1.5" />
      <circle cx="7" cy="11.5" r="1.5" />
    </Icon>
  )
}
