# Makes this machine a device of an Orion backend: downloads the agent, checks it, enrols, and starts it as a service.
#
#   TOKEN [--allow-path PATH]... [--profile NAME] [--name NAME] [--system] [--yes] [--force]
#
#   TOKEN         what `orion devices invite` printed
#   --allow-path  a folder that may be used on this device; without one, you are asked
#   --system      a service of the system (in a terminal of an administrator), and not one of yours
#   --yes         asks nothing: folders that are not named stay closed
#   --force       become a new device where this machine is one already
#
# Everything is in a function, and the last line calls it: of a download that was cut, nothing runs. This script trusts
# no connection. The agent runs only if its SHA-256 is the one below, and it sends its secret only to a backend whose
# authority is in the token.

function Install-OrionAgent {
    $ErrorActionPreference = 'Stop'
    $base = '@BASE@'
    $curlOptions = @(@CURL_OPTIONS@)
    $platform = 'windows-x86_64'
    $sha256 = '@SHA256@'
    $size = '@SIZE@'

    $token = ''
    $system = @()
    $force = @()
    $yes = $false
    $folders = $false
    # These are the arguments of `orion-agent enroll`.
    $words = @()
    # `--name=NAME` is as good as `--name NAME`.
    $given = @($args | ForEach-Object { if ([string]$_ -cmatch '^(--[a-z-]+)=(.*)$') { $Matches[1], $Matches[2] } else { $_ } })
    for ($at = 0; $at -lt $given.Count; $at++) {
        $word = [string]$given[$at]
        if ($word -cin '--allow-path', '--profile', '--name') {
            $at++
            if ($at -ge $given.Count) { throw "orion: $word needs a value" }
            # A backslash before a quote would not arrive.
            $words += $word, ([string]$given[$at]).Replace('\', '/')
            if ($word -ceq '--allow-path') { $folders = $true }
        } elseif ($word -ceq '--system') { $system = @('--system')
        } elseif ($word -ceq '--yes') { $yes = $true
        } elseif ($word -ceq '--force') { $force = @('--force')
        } elseif ($word.StartsWith('-')) { throw "orion: $word is not an option of this script"
        } elseif ($token) { throw 'orion: there are two tokens; paste one line of `orion devices invite`'
        } else { $token = $word }
    }
    if (-not $token) { throw 'orion: the token is missing; paste the whole line of `orion devices invite`' }
    if ($token -cnotmatch '^orion[0-9]+\.') { throw 'orion: this is not an enrolment token; one begins with orion1.' }
    if (-not [Environment]::Is64BitOperatingSystem) { throw 'orion: there is no agent for Windows with 32 bits' }
    if (-not $sha256) {
        throw "orion: this backend has no agent for $platform; its admin adds one with: orion-server releases add"
    }
    $account = [Security.Principal.WindowsPrincipal][Security.Principal.WindowsIdentity]::GetCurrent()
    if ($system -and -not $account.IsInRole([Security.Principal.WindowsBuiltInRole]::Administrator)) {
        throw 'orion: --system needs an administrator: paste the line into a terminal that was opened as administrator'
    }
    $curl = Join-Path ([Environment]::SystemDirectory) 'curl.exe'
    if (-not (Test-Path -LiteralPath $curl)) { throw 'orion: this Windows has no curl.exe; update it to 1803 or newer' }

    if (-not $folders -and -not $yes) {
        $example = if ($system) { 'C:/files' } else { '~/files' }
        Write-Host "Which folders may be used on this device? One path a line, such as $example. An empty line ends the list."
        while ($path = Read-Host '>') { $words += '--allow-path', $path.Replace('\', '/') }
    }

    # The profile is private; to the folder of programs only administrators write.
    $data = [Environment]::GetFolderPath($(if ($system) { 'ProgramFiles' } else { 'LocalApplicationData' }))
    $folder = Join-Path $data ('orion-install.' + [IO.Path]::GetRandomFileName())
    $null = New-Item -ItemType Directory -Path $folder
    try {
        $agent = Join-Path $folder 'orion-agent.exe'
        Write-Host "Downloading the agent for $platform, $size bytes"
        & $curl -q -fsSL @curlOptions --connect-timeout 20 --max-time 900 --retry 3 -o $agent "$base/download/$platform/orion-agent"
        if ($LASTEXITCODE -ne 0) {
            throw "orion: the agent could not be downloaded whole from $base; check the network, and the space in $data"
        }
        $found = (Get-FileHash -Algorithm SHA256 -LiteralPath $agent).Hash
        if ($found -ne $sha256) {
            throw "orion: what was downloaded is not the agent of this backend (SHA-256 $found, and not $sha256); nothing of it was run"
        }
        & $agent --version | Out-Null
        if ($LASTEXITCODE -ne 0) { throw 'orion: the agent does not run on this system' }

        # It says on standard error why this machine is no device yet.
        $ErrorActionPreference = 'Continue'
        $known = & $agent @system status 2>$null
        if ($LASTEXITCODE -eq 0 -and -not $force) {
            Write-Host 'This machine is a device already, so the token and the options after it are not used; with --force after the token it becomes a new device:'
            $known | Write-Host
        } else {
            # By standard input: the list of processes does not show it.
            $token | & $agent @system enroll - @force @words
            if ($LASTEXITCODE -ne 0) {
                throw 'orion: this device is not enrolled; once that is settled (an agent that runs is stopped by its uninstall), paste the line again'
            }
        }
        & $agent @system install
        if ($LASTEXITCODE -ne 0) {
            throw 'orion: the device is enrolled, and its service does not serve it; correct what is named above, and paste the line again, without --force'
        }
    } finally {
        Remove-Item -LiteralPath $folder -Recurse -Force
    }
}

Install-OrionAgent @args
