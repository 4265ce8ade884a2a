package redact

import (
	"strings"
	"testing"
)

// Below the name of a column some values are secrets and some are not.
func TestValuesInColumns(t *testing.T) {
	r := New(testOptions())
	for _, c := range []struct {
		head, row, want string
	}{
		// Under the name of a secret, in any column but the first.
		{"user,password", "me,letmein", "me,*"},
		{"user,password", "me,abc", "me,abc"},
		{"user,password", "me,1234", "me,*"},
		{"user,password", "me,a b c d", "me,*"},
		{"user,password", "me,", "me,"},
		{"user,password", "me,null", "me,null"},
		{"user,password", "me,required", "me,required"},
		{"user,password", "me,DB_PASSWORD", "me,DB_PASSWORD"},
		{"user,password", "me,Db_password", "me,*"},
		{"user,password,x", "me,\"a,b\"\"c\",1", "me,\"*\",1"},
		{"user,password,x", "me, letmein ,1", "me, * ,1"},
		{"user\tpwd", "me\tletmein\r", "me\t*\r"},
		{"\"user\";\"pwd\"", "\"me\";\"letmein\"", "\"me\";\"*\""},
		{"user,PWD", "me,/home/me", "me,/home/me"},
		// In the first column, and under names of several words.
		{"password,user", "letmein,me", "letmein,me"},
		{"password,user", "letmein1,me", "*,me"},
		{"The user,password", "me,letmein", "me,letmein"},
		{"The user,password", "me,letmein1", "me,*"},
		// Under ambiguous names.
		{"user,token", "me,coin", "me,coin"},
		{"user,token", "me,a1b2c", "me,*"},
		{"user,token", "me,12345", "me,12345"},
		{"user,token", "me,123456", "me,*"},
		{"user,token", "me,a1 b2", "me,a1 b2"},
		{"user,session_id", "me,17", "me,17"},
		{"suite,pass", "unit,1234", "unit,1234"},
		// Numbers.
		{"user,pin", "me,12", "me,12"},
		{"user,cvv", "me,123", "me,*"},
		{"user,pin", "me,none", "me,none"},
		// What is not a table.
		{"user, password", "me, letmein", "me, letmein"},
		{"user,password,", "me,letmein,", "me,letmein,"},
		{"user,password (x)", "me,letmein", "me,letmein"},
		{"user,string,password", "me,x,letmein", "me,x,letmein"},
		{"password", "letmein", "letmein"},
		{"user,password", "me,letmein,x", "me,letmein,x"},
		{"|user|password|\n|me|letmein|", "|me|letmein|", "|me|letmein|"},
		// In Markdown.
		{"|user|password|\n|---|:-:|", "|me|letmein|", "|me|*|"},
		{"user | password\n--- | ---", "me | letmein", "me | *"},
		{"| user | password |\n| --- | --- |", "  | me | `letmein` |  ", "  | me | `*` |  "},
		{"|user|password|\n|---|---|", "|me|at least eight|", "|me|at least eight|"},
		{"|user|password|\n|---|", "|me|letmein|", "|me|letmein|"},
	} {
		got := redactedText(t, r, c.head+"\n"+c.row+"\n")
		want := c.head + "\n" + c.want + "\n"
		same := got == want
		if strings.Contains(want, "*") {
			same = sameBut(got, strings.ReplaceAll(want, "*", prefix))
		}
		if !same {
			t.Errorf("%q\ngot  %q\nwant %q", c.head+"\n"+c.row, got, want)
		}
	}
}
