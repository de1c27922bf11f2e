#!/bin/sh
# An executor in plain shell, with curl and openssl: docs/protocol.md by hand. Its one type, echo, returns its parameters.
#
#   AX_EXECUTOR=default/echo AX_EXECUTOR_SECRET=... python3 listen.py 9000 ./executor.sh
#
# What it must not forget is in files: a folder for each attempt below $AX_EXECUTOR_DIR, with the task, "started" before it is
# run, "outcome" before it is reported, "done" at the end. While openssl runs the secret can be seen in this machine's
# list of processes: where others work on it, use an SDK.
set -eu
: "${AX_EXECUTOR:?project/name of this executor}" "${AX_EXECUTOR_SECRET:?its secret}"
dir=${AX_EXECUTOR_DIR:-echo.d}
export LC_ALL=C
mkdir -p "$dir/nonces" "$dir/attempts"

now() { date +%s%3N; }
say() { printf '%s\n%s\n' "$1" "$2"; exit 0; }

# value KEY FILE: the JSON text of a key of the outermost object, as it was written.
value() {
	awk -v want="\"$1\"" '
		{ text = text (NR > 1 ? "\n" : "") $0 }
		END {
			n = length(text); depth = 0; key = ""; from = 0
			for (i = 1; i <= n; i++) {
				c = substr(text, i, 1)
				if (c == "\"") {
					start = i
					while (++i <= n && (c = substr(text, i, 1)) != "\"") if (c == "\\") i++
					if (depth == 1 && !from) key = substr(text, start, i - start + 1)
				} else if (c == "{" || c == "[") depth++
				else if (c == ":" && depth == 1 && !from && key == want) from = i + 1
				else if (c == "}" || c == "]" || c == ",") {
					if (from && depth == 1) { print substr(text, from, i - from); exit }
					if (c != ",") depth--
				}
			}
		}' "$2" | sed 's/^ *//; s/ *$//'
}

# word KEY FILE: the same without quotes, for texts in which nothing is escaped but perhaps an ampersand.
word() { value "$1" "$2" | sed 's/^"//; s/"$//; s/\\u0026/\&/g'; }

# signature METHOD TARGET TIME NONCE FILE
signature() {
	hash=$(openssl dgst -sha256 -hex <"$5" | sed 's/.* //')
	printf 'v1\n%s\n%s\n%s\n%s\n%s' "$1" "$2" "$3" "$4" "$hash" | openssl dgst -sha256 -hmac "$AX_EXECUTOR_SECRET" -hex | sed 's/.* /v1=/'
}

# call ATTEMPT-FOLDER ENDPOINT FILE: POSTs the file to the center, prints the status; the answer is in the folder.
call() {
	url=$(word callbackUrl "$1/task")
	case $url in *\?*) query=?${url#*\?} ;; *) query= ;; esac
	path=${url%%\?*}
	url=${path%/*}/$2$query
	rest=${url#*://}
	at=$(now) nonce=$(openssl rand -hex 16)
	curl -sS --max-time 10 -o "$1/$2.answer" -w '%{http_code}' -H 'Content-Type: application/json' -H "X-Ax-Executor: $AX_EXECUTOR" \
		-H "X-Ax-Time: $at" -H "X-Ax-Nonce: $nonce" -H "X-Ax-Signature: $(signature POST "/${rest#*/}" "$at" "$nonce" "$3")" \
		--data-binary "@$3" "$url" 2>/dev/null || true
}

# keep FOLDER NAME: what is on standard input becomes a file that outlives a crash, whole or not at all.
keep() {
	cat >"$1/$2.new"
	sync "$1/$2.new" && mv "$1/$2.new" "$1/$2" && sync "$1"
}

# --- a request

# receive judges the signature and remembers the nonce; the body is in the file $1.
receive() {
	[ "${HTTP_X_AX_EXECUTOR-}" = "$AX_EXECUTOR" ] || say 401 "{\"error\":\"this executor is $AX_EXECUTOR\"}"
	at=${HTTP_X_AX_TIME-} nonce=${HTTP_X_AX_NONCE-}
	case $at in '' | *[!0-9]* | ????????????????*) say 401 '{"error":"X-Ax-Time must hold UTC milliseconds"}' ;; esac
	case $nonce in '' | *[!A-Za-z0-9_-]*) say 401 '{"error":"X-Ax-Nonce is missing or malformed"}' ;; esac
	[ ${#nonce} -ge 16 ] && [ ${#nonce} -le 64 ] || say 401 '{"error":"X-Ax-Nonce must have 16 to 64 characters"}'
	[ "$(signature "$REQUEST_METHOD" "$REQUEST_TARGET" "$at" "$nonce" "$1")" = "${HTTP_X_AX_SIGNATURE-}" ] ||
		say 401 '{"error":"X-Ax-Signature does not fit: compare secret, method, path and body"}'
	off=$(($(now) - at))
	[ $off -le 300000 ] && [ $off -ge -300000 ] || say 401 "{\"error\":\"X-Ax-Time is more than 300 s off this clock\",\"time\":$(now)}"
	find "$dir/nonces" -mindepth 1 -mmin +11 -delete
	mkdir "$dir/nonces/$nonce" 2>/dev/null || say 401 '{"error":"X-Ax-Nonce was seen before: sign anew when sending again"}'
}

# folder FILE: where the attempt of a body is kept.
folder() {
	key=$(word traceId "$1").$(word attempt "$1")
	case $key in .* | *. | *[!A-Za-z0-9.-]*) say 400 '{"error":"traceId or attempt is missing","field":"traceId"}' ;; esac
	printf %s "$dir/attempts/$key"
}

answer() {
	case ${REQUEST_TARGET%%\?*} in
	*/health)
		[ ! -e "$dir/draining" ] || say 503 '{"error":"this executor is being stopped"}'
		say 200 '{"types":["echo"]}'
		;;
	esac
	[ "$REQUEST_METHOD" = POST ] || say 405 '{"error":"an executor is sent tasks by POST"}'
	body=$(mktemp "$dir/body.XXXXXX")
	trap 'rm -f "$body"' EXIT
	cat >"$body"
	receive "$body"
	attempt=$(folder "$body")
	case $attempt in [0-9]*) printf '%s\n' "$attempt"; exit 0 ;; esac
	case ${REQUEST_TARGET%%\?*} in
	*/cancel)
		[ -d "$attempt" ] && [ ! -e "$attempt/done" ] || say 404 '{"error":"this attempt is not at work here"}'
		: >"$attempt/cancelled"
		say 202 '{"cancelling":true}'
		;;
	esac
	[ "$(word execType "$body")" = echo ] || say 404 '{"error":"this executor has one type, echo","field":"execType"}'
	[ ! -e "$dir/draining" ] || say 503 '{"error":"this executor is being stopped"}'
	mkdir "$attempt" 2>/dev/null || say 409 '{"error":"this executor has the attempt already"}'
	printf %s $((at - $(now))) >"$attempt/ahead" # how far the center's clock is before this one
	keep "$attempt" task <"$body"
	begin "$attempt"
	say 202 '{"accepted":true}'
}

# --- the work

# begin FOLDER: carries the attempt on, in a process of its own, unless one does already.
begin() { setsid flock -n -o "$1/lock" "$0" work "$1" </dev/null >/dev/null 2>&1 & }

# finish FOLDER SUCCESS REST: keeps the outcome; REST is more JSON, such as ,"message":"...".
finish() {
	printf '{"traceId":%s,"attempt":%s,"success":%s%s}' "$(value traceId "$1/task")" "$(value attempt "$1/task")" "$2" "$3" | keep "$1" outcome
}

# claim FOLDER: true once the task may be started at once.
claim() {
	printf '{"traceId":%s,"attempt":%s}' "$(value traceId "$1/task")" "$(value attempt "$1/task")" >"$1/ask"
	while :; do
		asked=$(now)
		status=$(call "$1" claim "$1/ask")
		if [ "$status" = 200 ]; then
			[ "$(value granted "$1/claim.answer")" = true ] || return 1
			deadline=$(value deadline "$1/claim.answer")
			printf started | keep "$1" started
			[ $(($(now) - asked)) -ge 3000 ] || return 0
			rm "$1/started"
			continue # the answer came late: the next one counts
		fi
		case $status in 400 | 404) return 1 ;; esac
		[ ! -e "$1/cancelled" ] || return 1
		[ "$(now)" -lt $(($(value deadline "$1/task") - $(cat "$1/ahead"))) ] || return 1
		sleep 1
	done
}

# watch FOLDER PID: beats while the task runs, and ends it when it should stop.
watch() {
	: "${deadline:=$(value deadline "$1/task")}"
	end=$((deadline - $(cat "$1/ahead"))) next=0
	while kill -0 "$2" 2>/dev/null; do
		if [ "$(now)" -ge $next ]; then
			next=$(($(now) + 10000))
			[ "$(call "$1" heartbeat "$1/ask")" != 200 ] || [ "$(value cancel "$1/heartbeat.answer")" != true ] || : >"$1/cancelled"
		fi
		if [ -e "$1/cancelled" ]; then
			why='cancelled by the center'
		elif [ "$(now)" -ge $end ]; then
			why='stopped at its deadline'
		else
			sleep 0.2
			continue
		fi
		kill -9 "-$2" 2>/dev/null || kill -9 "$2" 2>/dev/null || true
		wait "$2" 2>/dev/null || true
		finish "$1" false ",\"message\":\"$why\""
		return
	done
	if wait "$2"; then
		finish "$1" true ",\"result\":$(cat "$1/result")"
	else
		finish "$1" false ',"message":"the task failed"'
	fi
}

# report FOLDER: until the center has it.
report() {
	pause=1
	until case $(call "$1" report "$1/outcome") in 2??) true ;; *) false ;; esac; do
		[ ! -e "$1/ask" ] || call "$1" heartbeat "$1/ask" >/dev/null # 35 s of silence, and the attempt is taken as lost
		sleep $pause
		[ $pause -ge 20 ] || pause=$((pause * 2 > 20 ? 20 : pause * 2))
	done
	rm -f "$1/task" "$1/result"
	: >"$1/done"
}

work() {
	[ -e "$1/outcome" ] || {
		if [ -e "$1/started" ]; then
			finish "$1" false ',"message":"the executor was restarted while the task ran"'
		elif claim "$1"; then
			setsid "$0" task "$1" &
			watch "$1" $!
		elif [ -e "$1/cancelled" ]; then
			finish "$1" false ',"message":"cancelled before it was started"'
		else
			: >"$1/done"
			return
		fi
	}
	report "$1"
}

# task FOLDER: the business. It leaves its result, a JSON object, in the file result.
task() {
	printf '{"traceId":%s,"attempt":%s,"first":1,"lines":[{"at":%s,"stream":"out","text":"echo"}]}' \
		"$(value traceId "$1/task")" "$(value attempt "$1/task")" "$(now)" >"$1/log"
	tries=0
	until case $(call "$1" log "$1/log") in 2??) true ;; *) [ $((tries += 1)) -ge 5 ] ;; esac; do sleep 1; done
	value params "$1/task" >"$1/params"
	seconds=$(word sleep "$1/params")
	case $seconds in '' | *[!0-9.]*) ;; *) sleep "$seconds" ;; esac
	cp "$1/params" "$1/result"
}

case ${1-} in
'') answer ;;
work | task) "$1" "$2" ;;
resume)
	rm -f "$dir/draining"
	for attempt in "$dir"/attempts/*; do
		[ ! -e "$attempt/task" ] || [ -e "$attempt/done" ] || begin "$attempt"
	done
	;;
drain)
	: >"$dir/draining"
	for attempt in "$dir"/attempts/*; do
		[ ! -d "$attempt" ] || [ -e "$attempt/done" ] || exit 1
	done
	;;
esac
